"""A very simple safe-Bayesian random forest (Quadrianto and Ghahramani, 2015)."""

from __future__ import annotations

#: Mean and standard deviation over five repeats.
Cell = tuple[float, float]


def spreads(text: str) -> dict[str, dict[str, Cell]]:
    """A block of text as figures with spreads: a header of methods, then a line a dataset."""
    head, *rows = (line.split() for line in text.strip().splitlines())
    return {
        name: {
            method: tuple(float(part) for part in cell.split("±"))
            for method, cell in zip(head, cells, strict=True)
            if cell != "-"
        }
        for name, *cells in rows
    }  # type: ignore[return-value]


#: Table 1, accuracy in percent.
TABLE_1 = spreads(
    """
                    kNN         SVM         RF-Gini     RF-entropy  MCMC        SMC-prior    SMC-post.   BART        S-Bayes
    australian      83.04±2.53  86.23±0.89  86.23±2.29  86.08±2.82  86.09±0.61  86.23±1.02   86.23±0.51  87.68±0.88  87.39±1.50
    breast_original 98.39±1.25  98.54±1.15  98.10±1.42  98.10±1.42  96.93±1.58  96.35±2.42   96.49±1.66  98.39±1.40  97.95±1.30
    diabetes_pima   72.59±1.32  75.32±4.68  74.80±2.61  74.15±3.13  74.42±2.08  71.68±1.63   73.76±2.08  76.75±5.08  74.28±4.76
    heart_statlog   81.11±5.54  85.18±2.62  82.96±4.01  83.33±4.34  80.37±6.23  79.63±5.86   81.48±5.71  85.56±3.56  87.41±5.61
    ionosphere      81.99±3.33  81.99±6.59  90.85±3.58  91.14±3.41  89.43±3.13  88.85±2.93   89.71±3.41  92.00±3.28  91.14±2.11
    german_numer    63.80±5.81  72.09±4.04  69.29±3.47  68.99±3.18  63.80±4.80  63.59±6.25   64.10±5.97  71.80±3.78  72.40±2.88
    iris            95.99±5.33  98.00±2.98  96.67±3.33  96.67±3.33  96.67±3.33  97.33±2.78   95.99±3.65  -           96.67±3.33
    wine            97.22±1.76  97.22±3.40  98.33±2.48  98.33±2.48  95.56±1.52  86.67±9.89   94.44±1.96  -           99.44±1.24
    svmguide2       60.61±2.71  69.70±7.72  69.09±4.97  67.87±7.90  63.64±9.34  55.15±11.81  62.42±5.90  -           67.27±4.97
    """  # noqa: E501
)
#: Table 1, D and N ("number of observations, equal from each class").
TABLE_1_SIZES = {
    "australian": (14, 618),
    "breast_original": (10, 517),
    "diabetes_pima": (8, 574),
    "heart_statlog": (13, 270),
    "ionosphere": (34, 270),
    "german_numer": (24, 680),
    "iris": (4, 60),
    "wine": (13, 178),
    "svmguide2": (20, 159),
}
#: Table 2, accuracy in percent.
TABLE_2 = spreads(
    """
                    best-tree   BMA         S-Bayes
    australian      86.23±0.79  86.23±0.89  87.39±1.50
    breast_original 96.06±1.35  96.64±0.40  97.95±1.30
    diabetes_pima   71.42±2.53  70.39±3.45  74.28±4.76
    heart_statlog   75.93±6.83  77.78±8.97  87.41±5.61
    ionosphere      81.99±5.07  81.71±5.84  91.14±2.11
    german_numer    63.20±5.71  63.70±6.02  72.40±2.88
    iris            94.00±4.89  94.67±6.05  96.67±3.33
    wine            86.67±5.93  88.33±4.56  99.44±1.24
    svmguide2       51.51±5.42  53.94±8.41  67.27±4.97
    """
)
#: Table 3, mean log probability of the true class, in nats.
TABLE_3 = spreads(
    """
                    MCMC            S-Bayes
    australian      -0.3330±0.0249  -0.5409±0.0043
    breast_original -0.0999±0.0336  -0.3009±0.0129
    diabetes_pima   -0.5277±0.0149  -0.6260±0.0061
    heart_statlog   -0.4464±0.0560  -0.5879±0.0053
    ionosphere      -0.3150±0.0605  -0.6097±0.0095
    german_numer    -0.5885±0.0281  -0.6759±0.0023
    iris            -0.2616±0.1284  -0.5473±0.0608
    wine            -0.2475±0.0581  -0.6625±0.0275
    svmguide2       -0.8702±0.0858  -1.0283±0.0133
    """
)
