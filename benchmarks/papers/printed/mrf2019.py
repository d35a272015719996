"""Multinomial Random Forests: Fill the Gap between Consistency and Soundness (2019)."""

from __future__ import annotations

from papers.printed import by_dataset

METHODS = ("Denil14", "BRF", "MRF", "Breiman")

#: Table 2: accuracy in percent.
TABLE_2 = by_dataset(
    """
                        Denil14   BRF     MRF    Breiman
    echocardiogram       78.46   88.45   92.21    91.86
    vehicle              68.81   71.67   72.81    74.70
    car                  88.02   93.43   96.27    97.61
    image_segmentation   95.45   96.06   97.27    97.71
    chess_kr_vs_kp       61.32   97.12   99.01    98.72
    connect_4            66.19   76.75   81.37    80.05
    """
)
#: Table 3: mean squared error.
TABLE_3 = by_dataset(
    """
                        Denil14   BRF     MRF    Breiman
    yacht               150.6    128.9    16.0     24.0
    energy_heating       24.5     19.9     0.4      1.3
    wiki4he               8.0      8.0     1.8      1.5
    solar_flare           1.0      0.7     0.5      0.5
    airfoil              43.5     38.6     9.3      7.6
    skillcraft            2.4      2.0     1.0      0.9
    """
)
#: Datasets on which MRF is significantly better than each other forest (the bullets).
BULLETS = {
    "Denil14": (*TABLE_2, *TABLE_3),
    "BRF": (*TABLE_2, *TABLE_3),
    "Breiman": ("echocardiogram", "connect_4", "yacht", "energy_heating"),
}
#: Records as the paper's Table 1 counts them.
ROWS = {
    "echocardiogram": 132, "vehicle": 946, "car": 1728, "image_segmentation": 2310,
    "chess_kr_vs_kp": 3196, "connect_4": 67557, "yacht": 308, "energy_heating": 768,
    "wiki4he": 913, "solar_flare": 1389, "airfoil": 1503, "skillcraft": 3395,
}  # fmt: skip
#: Section 7.4: what Figures 1 and 2 go through, for p at B = 10 and for B at p = 0.05.
FIGURES_P = tuple(place / 100 for place in range(1, 11))
FIGURES_B = tuple(range(16))
