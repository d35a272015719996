"""How exactly treelite says what scores of trees mean: why there is no ``to_treelite``.

Trees with doubles for thresholds and leaves are handed to treelite's own reference runtime (GTIL),
and what its functions at the end make of their sums is compared with numpy, for each of them that a
forest would need. Needs treelite, which no extra brings.

    python benchmarks/treelite_links.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

N_TREES, N_RECORDS, SEED = 40, 10_000, 0
Floats = NDArray[np.float64]


def made(function: str, thresholds: Floats, leaves: Floats) -> Any:
    """Stumps on one feature, shape (T, 2, C) of leaves, with a function at their end."""
    from treelite import model_builder as builder

    n_columns = leaves.shape[2]
    several = n_columns > 1
    made = builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=builder.Metadata(
            num_feature=1,
            task_type="kMultiClf" if several else "kBinaryClf",
            average_tree_output=False,
            num_target=1,
            num_class=[n_columns],
            leaf_vector_shape=(1, n_columns),
        ),
        tree_annotation=builder.TreeAnnotation(
            num_tree=len(leaves),
            target_id=[0] * len(leaves),
            class_id=[-1 if several else 0] * len(leaves),
        ),
        postprocessor=builder.PostProcessorFunc(name=function),
        base_scores=[0.0] * n_columns,
    )
    for threshold, pair in zip(thresholds, leaves, strict=True):
        _add_stump(made, float(threshold), pair)
    return made.commit()


def _add_stump(made: Any, threshold: float, leaves: Floats) -> None:
    made.start_tree()
    made.start_node(0)
    made.numerical_test(
        feature_id=0, threshold=threshold, default_left=True, opname="<=",
        left_child_key=1, right_child_key=2,
    )  # fmt: skip
    made.end_node()
    for number, values in enumerate(leaves, start=1):
        made.start_node(number)
        made.leaf(values.tolist() if values.size > 1 else float(values[0]))
        made.end_node()
    made.end_tree()


def difference(function: str, n_columns: int) -> float:
    """Largest difference between treelite's answers and numpy's."""
    import treelite

    generator = np.random.default_rng(SEED)
    values = generator.normal(size=N_RECORDS)
    thresholds = generator.normal(size=N_TREES)
    leaves = generator.normal(size=(N_TREES, 2, n_columns)) / 4
    sides = (values[:, None] > thresholds).astype(int)
    sums = leaves[np.arange(N_TREES), sides].sum(axis=1)
    answers = treelite.gtil.predict(made(function, thresholds, leaves), values[:, None])
    expected = {"softmax": _softmax, "sigmoid": lambda s: 1 / (1 + np.exp(-s))}
    return float(np.abs(answers[:, 0] - expected.get(function, lambda s: s)(sums)).max())


def _softmax(sums: Floats) -> Floats:
    shares: Floats = np.exp(sums - sums.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def main() -> None:
    """Print the largest difference of each function."""
    import treelite

    print(f"treelite {treelite.__version__}, numpy {np.__version__}: largest difference")
    for function, n_columns in (("identity_multiclass", 3), ("sigmoid", 1), ("softmax", 3)):
        print(f"{function:20s} {difference(function, n_columns):.1e}")


if __name__ == "__main__":
    main()
