"""Compiled loops over records and cells; numpy and numba only, pure functions of arrays.

Shared conventions (nothing in here checks them; the door does):

``codes``
    uint8, uint16 or uint32 ``(n, D)``, C order, one record a row, ``codes[r, f] < n_codes[f]``.
``offsets``
    int64 ``(D + 1,)``, cumulative code counts; code ``c`` of feature ``f`` is cell
    ``offsets[f] + c``.
``labels``
    Class codes below K; uint8 where ``K <= 256``, else uint16 (:func:`label_dtype`).
``order``, ``node_starts``
    int32 record numbers grouped by node; those of node ``v`` are
    ``order[node_starts[v]:node_starts[v + 1]]``.
``feature``, ``low``, ``high``
    Splits, ``low <= high``. A record goes left iff ``low <= code <= high``; ``feature == -1`` sends
    every record left.

Every output is an argument called ``out`` or ``new_…``, overwritten whole, so callers reuse memory.
Counts are signed (unsigned subtraction wraps). Raw counts never leave the caller's workspace.
"""
