"""Logs of evaluations: those that the packages wrote, and those that want to do harm.

The files in ``tests/logs`` were written by inspect_ai 0.3.285 (its mock model, 6 sums, 2
epochs) and lm_eval 0.4.13 (a model that guesses, 10 sums); of the latter's results the keys
that are read are left.
"""

from __future__ import annotations

import json
import random
import shutil
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from psips import InputError
from psips.cli import app
from psips.evaluation import inspect_logs
from psips.evaluation.logs import find_logs, read_evaluations, read_logs
from psips.evaluation.matrix import replay

LOGS = Path(__file__).parent / "logs"
INSPECT, LM_EVAL = LOGS / "inspect", LOGS / "lm_eval"


def sample(item: str | int, epoch: int = 1, value: object = "C", **more: object) -> dict:
    return {"id": item, "epoch": epoch, "scores": {"match": {"value": value}}, **more}


def parts(model: str = "m", samples: object = (), **about: object) -> dict[str, object]:
    scorers = [{"name": "match", "metrics": [{"name": "accuracy"}]}]
    header = {"status": "success", "eval": {"model": model, "task": "t", "scorers": scorers}}
    header["eval"].update(about)
    return {"header.json": header, "summaries.json": list(samples)}


def write(path: Path, content: dict[str, object], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in content.items():
            archive.writestr(name, data if isinstance(data, bytes) else json.dumps(data))
    return path


def some(n: int, p: float, epochs: int = 1, seed: int = 0) -> list[dict]:
    rng = random.Random(seed)
    return [
        sample(f"q{j}", e + 1, "C" if rng.random() < p else "I")
        for j in range(n)
        for e in range(epochs)
    ]


def read(*files: Path, metrics: tuple[str, ...] = (), **options: object):
    return read_evaluations([str(file) for file in files], metrics, **options)


def run(*words: str):
    return CliRunner().invoke(app, ["matrix", *words])


# What the packages wrote


def test_logs_of_inspect() -> None:
    found = read(INSPECT)
    assert found.arms == ["mockllm/huge", "mockllm/large", "mockllm/small"]
    assert found.items == ["0", "q1", "2", "q3", "4", "q5"]
    assert found.metrics == ["match", "brevity", "two.a", "two.b", "cost"]
    assert found.ways == {"match": "max", "cost": "min"}
    assert not np.isnan(found.values).any()
    assert any("up to 2 epochs" in note for note in found.notes)
    assert any("'tokens', 'seconds'" in note for note in found.notes)


def test_epochs_are_one_value_of_an_item() -> None:
    zstandard = pytest.importorskip("zstandard")
    path = INSPECT / "small.eval"
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        info = archive.getinfo("summaries.json")
        file.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
        file.seek(name + extra, 1)
        packed = file.read(info.compress_size)
    samples = json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    assert len(samples) == 12
    found = read(path, metrics=("match", "tokens"))
    for item, row in zip(found.items, found.values[0], strict=True):
        own = [one for one in samples if str(one["id"]) == item]
        right = [float(one["scores"]["match"]["value"] == "C") for one in own]
        tokens = [sum(u["total_tokens"] for u in one["model_usage"].values()) for one in own]
        assert len(own) == 2
        assert row.tolist() == [np.mean(right), np.mean(tokens)]


def test_logs_of_lm_eval() -> None:
    found = read(LM_EVAL, metrics=("acc",))
    assert sorted(found.arms) == ["acme/large", "acme/small"]
    assert len(found.items) == 10
    assert all(item.startswith("sums / ") for item in found.items)
    assert found.ways == {"acc": "max"}
    for arm, row in zip(found.arms, found.values[..., 0], strict=True):
        folder = LM_EVAL / arm.replace("/", "__")
        lines = next(folder.glob("samples_sums_*")).read_text().splitlines()
        assert row.tolist() == [json.loads(line)["acc"] for line in lines]


def test_filters_of_lm_eval_are_metrics_of_their_own() -> None:
    files = [
        next((LM_EVAL / name).glob("samples_gen*")) for name in ("acme__large", "acme__small")
    ]
    found = read(*files)
    assert found.metrics == ["exact_match,strict", "exact_match,loose"]
    assert found.ways == dict.fromkeys(found.metrics, "max")
    assert found.values.shape == (2, 10, 2)


def test_metrics_of_different_tasks_are_not_compared_together() -> None:
    found = read(LM_EVAL)
    with pytest.raises(InputError, match="no cell of the table has a value of every metric"):
        replay(found)


def test_the_command_reads_folders() -> None:
    done = run(str(INSPECT), "--objective", "match", "--objective", "tokens", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["directions"] == {"match": "max", "tokens": "min"}
    assert found["of"] == 18
    done = run(str(LM_EVAL), "--objective", "exact_match,loose")
    assert done.exit_code == 0, done.output
    assert "4 logs: 2 options, 10 items" in done.stdout


def test_a_score_of_which_nothing_says_the_direction_is_asked_for() -> None:
    done = run(str(INSPECT), "--objective", "brevity")
    assert isinstance(done.exception, InputError)
    assert "whether more or less of 'brevity' is better" in str(done.exception)


# Options, tasks, states


def test_options_are_told_apart_by_what_differs(tmp_path) -> None:
    one = write(tmp_path / "a.eval", parts(samples=some(4, 0.5), solver="plain"))
    two = write(tmp_path / "b.eval", parts(samples=some(4, 0.5), solver="cot"))
    assert read(one, two).arms == ["m, plain", "m, cot"]
    assert read(one, two, arm="solver").arms == ["plain", "cot"]
    assert read(one, two, arm="file").arms == ["a", "b"]
    with pytest.raises(InputError, match=r"unknown name of options \(--arm\) 'modle'.*'model'"):
        read(one, two, arm="modle")
    hot = {"temperature": 1.0}
    three = write(
        tmp_path / "c.eval",
        parts(samples=some(4, 0.5), solver="cot", model_generate_config=hot),
    )
    assert read(one, two, three).arms[2] == "m, cot, temperature=1.0"


def test_logs_that_nothing_tells_apart_are_refused_or_repeats(tmp_path) -> None:
    samples = [[sample("a", value=1.0), sample("b", value=0.0)], [sample("a", value=0.0)]]
    files = [
        write(tmp_path / f"{k}.eval", parts(samples=each)) for k, each in enumerate(samples)
    ]
    with pytest.raises(
        InputError, match="2 logs are of 'm' on task 't' with the same settings"
    ):
        read(*files)
    assert read(*files, repeats=True).values[..., 0].tolist() == [[0.5, 0.0]]


def test_tasks_are_part_of_the_item(tmp_path) -> None:
    files = [
        write(tmp_path / f"{m}{t}.eval", parts(m, some(2, 0.5), task=t))
        for m in "xy"
        for t in ("sums", "words")
    ]
    assert read(*files).items == ["sums / q0", "sums / q1", "words / q0", "words / q1"]
    assert read(*files[:2], arm="task").items == ["q0", "q1"]


def test_errors_and_incomplete_evaluations_are_reported(tmp_path) -> None:
    samples = [*some(3, 0.5), {"id": "q9", "epoch": 1, "error": "boom", "scores": {}}]
    path = write(tmp_path / "a.eval", parts(samples=samples))
    found = read(path)
    assert len(found.items) == 3
    assert any("1 sample that ended in an error left out" in note for note in found.notes)
    content = parts("n", some(3, 0.5))
    journal = {
        "_journal/start.json": {"eval": content["header.json"]["eval"]},
        "_journal/summaries/10.json": [sample("q0", value="I")],  # later than 9: a retry
        "_journal/summaries/9.json": [sample("q0", value="C"), sample("q1")],
    }
    found = read(write(tmp_path / "b.eval", journal))
    assert found.values[0, :, 0].tolist() == [0.0, 1.0]
    assert any("did not end as planned (status started)" in note for note in found.notes)


def test_logs_without_summaries(tmp_path) -> None:
    content = parts()
    del content["summaries.json"]
    content |= {f"samples/{k}_epoch_1.json": sample(k, value=k) for k in range(2)}
    assert read(write(tmp_path / "a.eval", content)).values[0, :, 0].tolist() == [0.0, 1.0]


def test_items_that_differ_or_are_not_shared_are_reported(tmp_path) -> None:
    one = write(tmp_path / "a.eval", parts("x", [sample("q", input="1+1"), sample("r")]))
    two = write(tmp_path / "b.eval", parts("y", [sample("q", input="2+2"), sample("r")]))
    assert any("1 of 2 items have another input" in note for note in read(one, two).notes)
    three = write(tmp_path / "c.eval", parts("z", [sample("s"), sample("u")]))
    assert any("no item was put to two options" in note for note in read(one, three).notes)


def test_scores_that_are_no_numbers_are_left_out(tmp_path) -> None:
    samples = [sample(k) for k in range(3)]
    for one in samples:
        one["scores"]["label"] = {"value": "Paris"}
        one["scores"]["odd"] = {"value": float("nan")}
    found = read(write(tmp_path / "a.eval", parts(samples=samples)))
    assert found.metrics == ["match", "odd"]
    assert found.left_out == {"label": "is no number"}
    assert np.isnan(found.values[..., 1]).all()


def test_what_a_grader_took_is_not_what_the_option_took(tmp_path) -> None:
    usage = {"m": {"total_tokens": 10}, "judge": {"total_tokens": 90}}
    one = sample(1, model_usage=usage, role_usage={"grader": {"total_tokens": 90}})
    found = read(write(tmp_path / "a.eval", parts(samples=[one])), metrics=("tokens",))
    assert found.values.tolist() == [[[10.0]]]


def test_long_tables(tmp_path) -> None:
    path = tmp_path / "long.csv"
    rows = ["model,item,metric,value"]
    for model in "ab":
        for item in range(3):
            rows += [f"{model},{item},accuracy,{item % 2}", f"{model},{item},seconds,{item}.5"]
    path.write_text("\n".join(rows))
    found = read(path)
    assert found.arms == ["a", "b"]
    assert found.metrics == ["accuracy", "seconds"]
    assert found.values[0].tolist() == [[0.0, 0.5], [1.0, 1.5], [0.0, 2.5]]
    path.write_text("\n".join([*rows, "a,0,accuracy,1", "a,1,,1"]))
    with pytest.raises(InputError, match="line 15 names no metric"):
        read(path)
    path.write_text("\n".join([*rows, "a,0,accuracy,1"]))
    with pytest.raises(InputError, match="has a line for item '0' already"):
        read(path)
    assert read(path, repeats=True).values[0, 0].tolist() == [0.5, 0.5]


# Files that are damaged, or want to do harm


def test_a_log_that_unpacks_to_more_than_the_limit_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(inspect_logs, "MOST_OF_A_PART", 100_000)
    bomb = b"[" + b" " * 10_000_000 + b"]"
    path = write(tmp_path / "a.eval", parts() | {"summaries.json": bomb})
    assert path.stat().st_size < 50_000
    with pytest.raises(InputError, match="more than 100,000 bytes unpacked"):
        read(path)


def test_all_parts_together_have_a_limit(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(inspect_logs, "MOST_OF_ALL", 50_000)
    content = parts()
    del content["summaries.json"]
    padding = " " * 9000
    content |= {f"samples/{k}.json": sample(k, input=padding) for k in range(20)}
    with pytest.raises(InputError, match="too large"):
        read(write(tmp_path / "a.eval", content))


def test_a_log_packed_with_zstandard_that_lies_of_its_size(tmp_path, monkeypatch) -> None:
    zstandard = pytest.importorskip("zstandard")
    monkeypatch.setattr(inspect_logs, "MOST_OF_A_PART", 100_000)
    path = tmp_path / "a.eval"
    header = json.dumps(parts()["header.json"]).encode()
    bomb = zstandard.compress(b"[" + b" " * 10_000_000 + b"]")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", header)
        archive.writestr("summaries.json", bomb)
    data = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = data.rfind(mark)
        data[at + place : at + place + 2] = struct.pack("<H", 93)
    path.write_bytes(data)
    with pytest.raises(InputError, match="more than 100,000 bytes unpacked"):
        read(path)
    path.write_bytes(data.replace(bomb, bomb[:-9] + b"123456789"))
    with pytest.raises(InputError, match=r"unpacked|damaged"):
        read(path)


def test_a_list_of_parts_that_is_too_large_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(inspect_logs, "MOST_DIRECTORY", 1000)
    path = write(tmp_path / "a.eval", {f"samples/{k}.json": {} for k in range(100)})
    with pytest.raises(InputError, match="too many parts"):
        read(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"summaries.json": []}, "not a log of Inspect: it has no header.json"),
        ({"header.json": {}}, "names no model and task"),
        ({"header.json": b"[1,"}, "cannot be read: this is not JSON"),
        ({"header.json": b"[" * 100_000}, "nested too deeply"),
        ({"header.json": b'{"eval": 1, "eval": 2}'}, "comes twice"),
        (parts(samples=[]), "no sample with a score"),
        (parts(samples=[1, "x", None]), "no sample with a score"),
    ],
)
def test_parts_that_make_no_sense_are_refused(content, words: str, tmp_path) -> None:
    path = write(tmp_path / "a.eval", content)
    with pytest.raises(InputError, match=words):
        read_logs([(path, "Inspect")])


def test_any_damage_is_a_sentence(tmp_path) -> None:
    """Bytes changed at random: a table, or an error in words, and nothing else."""
    rng = random.Random(5)
    whole = (INSPECT / "small.eval").read_bytes()
    plain = write(tmp_path / "p.eval", parts(samples=some(5, 0.5))).read_bytes()
    outcomes = set()
    for trial in range(300):
        data = bytearray(whole if trial % 2 else plain)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if trial % 7 == 0:
            del data[rng.randrange(len(data)) :]
        path = tmp_path / "x.eval"
        path.write_bytes(data)
        try:
            read_logs([(path, "Inspect")])
            outcomes.add("read")
        except InputError as error:
            outcomes.add("refused" if len(str(error).splitlines()) == 1 else "several lines")
    assert outcomes == {"read", "refused"}


def test_any_values_are_a_table_or_a_sentence(tmp_path) -> None:
    rng = random.Random(6)
    odd = [None, 1, -1.5, "C", "x", [], {}, [1], {"a": None}, True, 10**400, float("inf")]
    for _ in range(200):
        content = parts(samples=some(3, 0.5))
        for _ in range(3):
            node: object = content
            while isinstance(node, dict | list) and node:
                keys = list(node) if isinstance(node, dict) else range(len(node))
                key = rng.choice(list(keys))
                if rng.random() < 0.3 or not isinstance(node[key], dict | list):
                    node[key] = rng.choice(odd)
                    break
                node = node[key]
        path = write(tmp_path / "x.eval", content)
        try:
            found = read_logs([(path, "Inspect")])
            assert not np.isinf(found.values).any()
        except InputError:
            pass


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"doc_id": 1, "acc": 1}\n{"acc": 1}\n', "line 2 is not a sample"),
        ('{"doc_id": 1, "acc": 1}\n[\n', "line 2 cannot be read"),
        ('{"doc_id": 1, "acc": [1, 2]}\n', "no sample with a score"),
    ],
)
def test_samples_that_make_no_sense_are_refused(text: str, words: str, tmp_path) -> None:
    path = tmp_path / "samples_t.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read(path)


def test_logs_and_tables_do_not_go_together(tmp_path) -> None:
    log = write(tmp_path / "a.eval", parts(samples=some(3, 0.5)))
    table = tmp_path / "t.csv"
    table.write_text("arm,item,x\na,1,2\n")
    with pytest.raises(InputError, match=r"t\.csv is not a log"):
        read(log, table)
    with pytest.raises(InputError, match="--map is for tables"):
        read(log, maps={"x": "y==1"})
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no logs"):
        read(tmp_path / "empty")
    assert find_logs([table]) == []


def test_other_zip_and_json_files_are_not_taken_for_logs(tmp_path) -> None:
    shutil.copytree(LM_EVAL, tmp_path / "runs")
    (tmp_path / "runs" / "notes.json").write_text('{"x": 1}')
    write(tmp_path / "runs" / "data.zip", {"x.json": {}})
    kinds = {kind for _, kind in find_logs([tmp_path / "runs"])}
    assert kinds == {"lm-evaluation-harness"}
