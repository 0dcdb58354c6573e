"""Products of matrices: rows of X, or its columns, against columns of W, in tiles that live in vector registers.

Each product is summed over the features (or the rows) in order, whatever tile it falls into, so that a column's result
depends on that column alone.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rankloop.kernels.arithmetic import LANE, LANES, broadcast, fused, load_lanes
from rankloop.kernels.compiler import kernel

TILE_ROWS = 4
TILE_COLUMNS = 2 * LANES


def padded(columns: int) -> int:
    """The next multiple of the lane count: how many columns a matrix for `multiply_into` must have.

    >>> padded(50)
    64
    """
    return -(-columns // LANES) * LANES


@kernel
def multiply_into(X, W, total):
    """total += X W for float32 X (rows, features) and W (features, columns); columns a multiple of 16.

    X may have more columns than W has rows: the others are not read.
    """
    rows, columns = X.shape[0], W.shape[1]
    whole_rows = rows - rows % TILE_ROWS
    whole_columns = columns - columns % TILE_COLUMNS
    for c in range(0, whole_columns, TILE_COLUMNS):
        for i in range(0, whole_rows, TILE_ROWS):
            wide_tile(X, W, total, i, c)
        for i in range(whole_rows, rows):
            wide_row(X, W, total, i, c)
    for c in range(whole_columns, columns, LANES):
        for i in range(0, whole_rows, TILE_ROWS):
            tile(X, W, total, i, c)
        for i in range(whole_rows, rows):
            row(X, W, total, i, c)


@kernel
def multiply_transposed_into(X, W, total):
    """total += Xᵀ W for float32 X (rows, features) and W (rows, columns); columns a multiple of 16.

    X may have more columns than `total` has rows: the others are not read.
    """
    features, columns = total.shape
    whole_features = features - features % TILE_ROWS
    whole_columns = columns - columns % TILE_COLUMNS
    for c in range(0, whole_columns, TILE_COLUMNS):
        for j in range(0, whole_features, TILE_ROWS):
            wide_transposed_tile(X, W, total, j, c)
        for j in range(whole_features, features):
            wide_transposed_row(X, W, total, j, c)
    for c in range(whole_columns, columns, LANES):
        for j in range(0, whole_features, TILE_ROWS):
            transposed_tile(X, W, total, j, c)
        for j in range(whole_features, features):
            transposed_row(X, W, total, j, c)


def _tile(rows, vectors, *, transposed=False):
    """An intrinsic that adds one tile of X W, or of Xᵀ W: `rows` rows of it times `vectors`·16 columns."""

    def add_tile(_context, X, W, total, i, c):
        matrix = types.Array(types.float32, 2, "C")

        def generate(context, builder, signature, args):
            X, W, total = (context.make_array(matrix)(context, builder, value) for value in args[:3])
            _generate_tile(builder, X, W, total, args[3], args[4], rows, vectors, transposed)
            return context.get_dummy_value()

        return types.void(matrix, matrix, matrix, types.int64, types.int64), generate

    return intrinsic(add_tile)


def _generate_tile(builder, X, W, total, i, c, rows, vectors, transposed):
    i64 = ir.IntType(64)
    depth, columns = (builder.extract_value(W.shape, axis) for axis in (0, 1))
    width = builder.extract_value(X.shape, 1)

    def at(matrix, width, row, column):
        return builder.gep(matrix.data, [builder.add(builder.mul(row, width), column)])

    places = [
        [at(total, columns, builder.add(i, i64(r)), builder.add(c, i64(v * LANES))) for v in range(vectors)]
        for r in range(rows)
    ]
    sums = [[cgutils.alloca_once_value(builder, load_lanes(builder, place)) for place in row] for row in places]
    with cgutils.for_range(builder, depth, intp=i64) as loop:
        weights = [
            load_lanes(builder, at(W, columns, loop.index, builder.add(c, i64(v * LANES)))) for v in range(vectors)
        ]
        for r in range(rows):
            place = builder.add(i, i64(r))
            x = builder.load(at(X, width, loop.index, place) if transposed else at(X, width, place, loop.index))
            x = broadcast(builder, x)
            for v in range(vectors):
                term = fused(builder, x, weights[v], builder.load(sums[r][v]))
                builder.store(term, sums[r][v])
    for row_places, row_sums in zip(places, sums, strict=True):
        for place, value in zip(row_places, row_sums, strict=True):
            place = builder.bitcast(place, LANE.as_pointer())
            builder.store(builder.load(value), place).align = 4


wide_tile = _tile(TILE_ROWS, 2)
wide_row = _tile(1, 2)
tile = _tile(TILE_ROWS, 1)
row = _tile(1, 1)
wide_transposed_tile = _tile(TILE_ROWS, 2, transposed=True)
wide_transposed_row = _tile(1, 2, transposed=True)
transposed_tile = _tile(TILE_ROWS, 1, transposed=True)
transposed_row = _tile(1, 1, transposed=True)
