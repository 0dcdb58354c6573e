"""Which lines count as tested."""

from tests.covered import bodies

SOURCE = """
@intrinsic
def compiled():
    def made():
        return 1
    return made

def run():
    return 2
"""


def test_what_stands_inside_a_compiled_function_is_not_run_by_python():
    assert bodies(SOURCE) == {9}
