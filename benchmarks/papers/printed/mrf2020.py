"""Multinomial Random Forest: Toward Consistency and Privacy-Preservation (2020)."""

from __future__ import annotations

from papers.printed import by_dataset

#: Table 1: accuracy in percent. banknote, wilt and phishing are in no data folder of ours.
TABLE_1 = by_dataset(
    """
                        Denil14   BRF    CompRF-C  MRF    CompRF-I  Breiman
    zoo                  80.00   85.00   87.69    90.64   93.39     87.38
    hayes_roth           50.93   45.35   45.82    79.46   46.04     77.58
    echocardiogram       78.46   88.46   89.63    91.72   88.09     90.64
    hepatitis            62.17   63.46   62.50    64.32   58.33     64.05
    wdbc                 92.86   95.36   92.39    95.78   94.26     96.01
    transfusion          72.97   77.70   76.53    78.53   75.28     79.52
    vehicle              68.81   71.67   59.68    73.54   64.86     74.70
    mammographic_masses  79.17   81.25   76.57    81.86   78.72     82.31
    messidor             65.65   65.21   65.62    67.14   66.14     68.35
    website_phishing     85.29   85.58   85.98    89.80   88.34     88.12
    banknote             98.29   98.32   99.36    99.49   99.02     99.12
    cmc                  53.60   54.63   53.93    56.12   54.61     55.11
    yeast                58.80   58.38   14.15    61.03   10.66     61.71
    car                  88.02   93.43   79.07    96.30   92.17     97.42
    image_segmentation   95.45   96.06   93.99    97.47   96.16     97.71
    chess_kr_vs_kp       61.32   97.12   94.77    99.25   97.49     98.72
    internet_ads_subset  85.99   94.43   96.05    96.76   96.44     97.59
    wilt                 97.16   97.25   97.23    98.56   98.27     98.10
    wine_quality_white   57.31   56.68   53.22    60.56   55.06     64.78
    phishing             94.35   94.47   95.44    96.07   96.45     95.56
    nursery              93.42   93.52   91.01    99.28   95.67     96.89
    connect_4            66.19   76.75   72.82    81.46   76.27     80.05
    """
)
METHODS_1 = ("Denil14", "BRF", "CompRF-C", "MRF", "CompRF-I", "Breiman")
#: Table 1's last line, over all 22 sets.
AVERAGE_RANKS_1 = dict(zip(METHODS_1, (5.1, 4.1, 4.8, 1.5, 3.7, 1.8), strict=True))
#: MRF against Breiman: † MRF significantly better, • Breiman.
MARKS_1 = {
    **dict.fromkeys(
        ("zoo", "hayes_roth", "echocardiogram", "website_phishing", "banknote", "cmc",
         "chess_kr_vs_kp", "phishing", "nursery", "connect_4"), "†"),
    **dict.fromkeys(
        ("transfusion", "vehicle", "mammographic_masses", "messidor", "car",
         "internet_ads_subset", "wine_quality_white"), "•"),
}  # fmt: skip

_DENIL14 = (
    "no variant that was tried has all of these; nearest is one candidate feature a node. DMRF's "
    "own run of Denil14 agrees with ours that is not held to k points in every leaf. The sets that "
    "MRF 2019 has too are printed there with the same figures"
)
_FRAGMENT = "998 of 3279 records, all ads among them: no comparison"
_VEHICLE = "846 records: 946 were never public, see the data notes"
#: What is known of rows that differ, by dataset and method (empty: all methods).
REMARKS_1: dict[tuple[str, str], str] = {
    **{(name, "Denil14"): _DENIL14 for name in TABLE_1 if name != "internet_ads_subset"},
    ("internet_ads_subset", ""): _FRAGMENT,
    ("vehicle", ""): _VEHICLE,
    ("zoo", "Breiman"): "not explained: other readings of k and of categories do no better",
    ("hayes_roth", ""): "the paper's numbering of the records is not known, ours is random; "
    "without a number CompRF would be 20 to 30 points off",
    ("echocardiogram", ""): "131 records; the paper has 132, one of them without a class",
    ("hepatitis", ""): "155 records and a nearly balanced target; with the class as target every "
    "method is 15 points or more above the print",
    ("mammographic_masses", "CompRF-C"): "not explained: neither scale nor missing values",
    ("mammographic_masses", "BRF"): "not explained",
    ("yeast", ""): "printed below the share of the largest class (31); not explained by the name "
    "of the sequence as a number, which gives 26 to 28",
    ("car", "CompRF-C"): "order of categories: alphabetical or one-hot 74, the domain's 85",
    ("car", "Breiman"): "order of categories",
    ("image_segmentation", ""): "just beyond; not examined further",
    ("wine_quality_white", "CompRF-I"): "not explained",
    ("nursery", "CompRF-C"): "order of categories: alphabetical 92.8",
    ("nursery", "Breiman"): "order of categories: alphabetical 96.9, as printed",
    ("connect_4", "Breiman"): "order of categories: one-hot 80.3",
    ("connect_4", "CompRF-C"): "order of categories: Hamming distance has 71.2",
}

#: Table 2: records, features and classes as the paper counts them.
TABLE_2 = {
    "zoo": (101, 17, 7), "hayes_roth": (132, 5, 3), "echocardiogram": (132, 12, 2),
    "hepatitis": (155, 19, 2), "wdbc": (569, 39, 2), "transfusion": (748, 5, 2),
    "vehicle": (946, 18, 4), "mammographic_masses": (961, 6, 2), "messidor": (1151, 19, 2),
    "website_phishing": (1353, 9, 3), "banknote": (1372, 4, 2), "cmc": (1473, 9, 3),
    "yeast": (1484, 8, 10), "car": (1728, 6, 4), "image_segmentation": (2310, 19, 7),
    "chess_kr_vs_kp": (3196, 36, 2), "internet_ads_subset": (3729, 1558, 2),
    "wilt": (4839, 5, 2), "wine_quality_white": (4898, 11, 7), "phishing": (11055, 31, 2),
    "nursery": (12960, 9, 5), "connect_4": (67557, 42, 3),
}  # fmt: skip

#: Table 3: accuracy in percent of a tree, by B3; B1 = B2 = B3 / (2 · depth), depth 10.
TABLE_3 = {
    1.0: {"wdbc": 94.71, "cmc": 52.58, "connect_4": 72.20},
    5.0: {"wdbc": 94.95, "cmc": 52.79, "connect_4": 74.12},
    10.0: {"wdbc": 94.93, "cmc": 52.94, "connect_4": 74.84},
    20.0: {"wdbc": 95.21, "cmc": 53.25, "connect_4": 76.84},
}
