"""Lists of domains: a name and its parents are asked, and the mode is saved."""
import pytest

import besom


@pytest.fixture
def names():
    f = besom.Filter(capacity=100, fpr=1e-6)
    f.add_many(["ads.example", "tracker.net"])
    f.set_domains(2)
    return f


def test_parents_are_asked(names):
    assert "www.ads.example" in names and "ADS.example." in names
    assert "example" not in names and "xads.example" not in names
    assert names.contains_many(["a.b.tracker.net", "net"]).tolist() == [True, False]


def test_the_entry_is_named(names):
    assert names.domain_entry("www.ads.example") == "ads.example"
    assert names.domain_entry("good.example") is None
    with pytest.raises(TypeError):
        names.domain_entry(17)


def test_a_report_fixes_the_entry(names):
    names.report("www.ads.example")
    assert "ads.example" not in names and "tracker.net" in names


def test_the_mode_is_saved(names, tmp_path):
    names.save(tmp_path / "list.besom")
    for loaded in (besom.Filter.load(tmp_path / "list.besom"), besom.Filter.open(tmp_path / "list.besom"),
                   names.copy(), besom.Filter.from_bytes(names.to_bytes())):
        assert "www.tracker.net" in loaded


def test_labels_out_of_range_are_refused(names):
    with pytest.raises(ValueError):
        names.set_domains(128)
    names.set_domains(0)
    assert "www.ads.example" not in names and "ads.example" in names
