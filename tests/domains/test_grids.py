import itertools

import numpy as np

import softbandit as sb
from softbandit.domains import grid


def test_the_grid_of_a_box_has_evenly_spaced_points_up_to_its_borders():
    box = sb.Box([0, -1], [1, 3])
    expected = [[x, y] for x in (0.0, 0.5, 1.0) for y in (-1.0, 0.0, 1.0, 2.0, 3.0)]
    np.testing.assert_allclose(grid(box.axes, [2, 4]), expected, atol=1e-15)


def test_with_a_cell_between_all_values_the_grid_of_a_finite_space_is_the_space():
    space = sb.Space({"layers": sb.Integer(3, 7), "kind": sb.Categorical(["a", "b", "c"])})
    np.testing.assert_allclose(grid(space.axes, [4, 1]), space.every(), atol=1e-15)
    assert [axis.size for axis in space.axes] == [5, 3]


def test_every_point_of_a_mixed_space_is_in_a_cell():
    """A cell has the two neighbouring values of each number, and the same category."""
    space = sb.Space({"kind": sb.Categorical(["a", "b"]), "rate": sb.LogFloat(1, 10), "layers": sb.Integer(1, 9)})
    points = {tuple(np.round(row, 9)) for row in grid(space.axes, [1, 4, 2])}
    assert len(points) == 2 * 5 * 3
    for x in space.at(np.random.default_rng(0).random((50, 4))):
        ends = [(np.floor(u * cells) / cells, np.ceil(u * cells) / cells) for u, cells in ((x[2], 4), (x[3], 2))]
        assert {(x[0], x[1], *corner) for corner in itertools.product(*ends)} <= points
