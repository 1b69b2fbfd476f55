from vta.relay.ir.origin import Origin, merged, where


def test_merged_origins_come_once_and_in_order() -> None:
    a, b, c = Origin("a", "Conv"), Origin("b"), Origin("c", "Relu")
    assert merged([(a, b), (), (c, a)]) == (a, b, c)


def test_a_call_is_named_by_its_operator_and_origins() -> None:
    assert where("add", ()) == "add"
    assert where("add", (Origin("a", "Add"), Origin("b"))) == "add (from Add 'a', 'b')"
