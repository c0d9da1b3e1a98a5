import json
import os
import re
import subprocess
import sys

from program import PROGRAM, RUNNER, RUN_SPOILED, SPOILED, expect_refusal, run, test, vulkan_devices

COMPARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/compare.py")
SMALL_BENCH = ["bench", "--tokens", "1", "--rounds", "2"]


@test
def bench_stands_beside_kernels_of_the_same_bytes():
    found = vulkan_devices()
    if not found:
        sys.exit(77)
    copies = ["copy_1", "copy_2", "copy_4", "copy_8", "CopyBuffer"]
    for number, device in enumerate(found):
        for clock, element in [("device", "bf16,f32"), ("host", "f16")]:
            if clock == "host" and number > 0:
                continue
            text, errors = run(*SMALL_BENCH, "--json", "--model", "vision-72,llama3-8b", "--source", "table", "--source",
                               "rows", "--device", device, "--clock", clock, "--element", element)
            assert errors == "", errors
            report = json.loads(text)
            assert report["clock"] == clock and report["device"]["name"] in run("devices")[0]
            assert len(report["rows"]) == 2 * 2 * 2 * len(element.split(","))
            for row in report["rows"]:
                heads = {"llama3-8b": 40 * 128, "vision-72": 32 * 72}[row["model"]]
                assert row["bytes"] == 2 * heads * {"f32": 4, "f16": 2, "bf16": 2}[row["element"]], row
                assert row["verified"] and row["rounds"] == 2 and row["tokens"] == 1, row
                names = [other["name"] for other in row["beside"]]
                wanted = copies + (["negate"] if row["place"] == "in-place" else [])
                wanted += ["warm"] if report["working_set_mib"] else []
                wanted += ([] if row["element"] == "f32" else ["float32"]) + ["empty"]
                assert names == wanted, names
                timed = [other for other in row["beside"][:4] if "us" in other]  # the others drowned in noise
                fastest = min(timed, key=lambda other: other["us"]["median"], default={"name": None})
                assert row.get("best_copy") == fastest["name"], row
                assert ("us" in row) != ("noise" in row), row
                assert all(one["us"]["low"] > 0 for one in [row, *row["beside"]] if "us" in one), row
    for place, head in [("out-of-place", "best copy( +copy_[1248]){4} CopyBuffer +float32"),
                        ("in-place", "best copy( +copy_[1248]){4} CopyBuffer +negate +float32")]:
        text = run(*SMALL_BENCH, "--element", "f16", "--place", place, "--device", found[0])[0]
        assert re.search(r"\n +1 +f16 +inline +(?:[0-9.]+|noise) ", text) and re.search(head + " +table +empty us\n", text), text
    for other, wanted in [("--table", "FillBuffer"), ("--fused", "unfused"), ("--encodings", "sum")]:
        only = ["--only", "kv_q8_0"] if other == "--fused" else []
        assert wanted in run(*SMALL_BENCH, other, *only, "--device", found[0])[0]
    text = run("bench", "--encodings", "--tokens", "3", "--rounds", "1", "--json", "--device", found[0])[0]
    for row in json.loads(text)["rows"]:
        assert ("unfit" in row) == ("batch_8" in row["encoding"]), row


@test
def bench_takes_batches_and_packed_sequences():
    found = vulkan_devices()
    if not found:
        sys.exit(77)
    for arguments, sequences, packed, tokens in [(["--batch", "3"], 3, False, 3 * 7), (["--packed", "4"], 4, True, 7)]:
        for device in found:
            text = run("bench", "--tokens", "7", "--rounds", "1", "--model", "llama3-8b,vision-72", "--source", "inline,table,rows",
                       "--place", "in-place", "--element", "f32", "--device", device, "--json", *arguments)[0]
            rows = json.loads(text)["rows"]
            assert len(rows) == 6, rows
            for row in rows:
                heads = {"llama3-8b": 40 * 128, "vision-72": 32 * 72}[row["model"]]
                assert row["verified"] and row["bytes"] == 2 * 4 * heads * tokens, row
                assert (row["sequences"], row["packed"], row["tokens"]) == (sequences, packed, 7), row
        text = run("bench", "--tokens", "7", "--rounds", "1", "--element", "f32", *arguments)[0]
        assert f"in-place, {sequences}{' packed' if packed else ''} sequences\n" in text, text


@test
def bench_has_copies_beside_fused_passes_and_a_fill_beside_what_is_only_written():
    found = vulkan_devices()
    if not found:
        sys.exit(77)
    sets = ["--rounds", "1", "--json", "--device", found[0], "--working-set", 16]
    rows = json.loads(run("bench", "--fused", "--tokens", "33", *sets)[0])["rows"]
    assert not [row["fused"] for row in rows if row["fused"] == "shift"], rows  # whole pages of 16 alone
    for row in rows:
        names = [other["name"] for other in row["beside"] if other["name"] != "warm"]
        assert names == ["unfused", "copy_1", "copy_2", "copy_4", "copy_8", "CopyBuffer", "empty"] and "best_copy" in row, row
    assert any(other["name"] == "warm" for row in rows for other in row["beside"]), rows
    for row in json.loads(run("bench", "--encodings", "--tokens", "8", *sets)[0])["rows"]:
        names = [other["name"] for other in row.get("beside", [])]
        assert ("FillBuffer" in names) == ("written" in row["encoding"]), row
        assert "warm" in names or "beside" not in row, row
    rows = json.loads(run("bench", "--table", *sets)[0])["rows"]
    assert rows and all("warm" in [other["name"] for other in row["beside"]] for row in rows if "beside" in row), rows


@test
def bench_leaves_checks_of_bounds_out_where_the_device_lets_it():
    for device in json.loads(run("devices", "--json")[0]) if vulkan_devices() else sys.exit(77):
        if not device["usable"]:
            continue
        for more, without in [([], device["offers"]["pipeline_robustness"]), (["--bounds-checks"], False)]:
            measure = [*SMALL_BENCH, "--element", "f32", "--device", device["index"], *more]
            assert json.loads(run(*measure, "--json")[0])["without_bounds_checks"] == without, (device, more)
            assert ("without a driver's checks" in run(*measure)[0]) == without, (device, more)


@test
def bench_times_many_dispatches_over_many_buffers():
    found = vulkan_devices()
    if not found:
        sys.exit(77)
    for device in found:
        for clock, working_set in [("device", 0), ("host", 8)]:
            report = json.loads(run(*SMALL_BENCH, "--tokens", "512", "--element", "f32", "--place", "out-of-place", "--json",
                                    "--device", device, "--clock", clock, "--working-set", working_set)[0])
            assert report["working_set_mib"] == working_set
            few, many = report["rows"]
            beside = {other["name"]: other for other in few["beside"]}
            assert ("warm" in beside) == (working_set != 0) and "warm" not in [o["name"] for o in many["beside"]], report
            assert few["dispatches"] >= 1 and many["dispatches"] >= 1 and beside["CopyBuffer"]["dispatches"] >= 1, few
            watch = report["clock_watch"]
            assert watch["warm_ups"] >= 1 and watch["samples"] >= 1 and watch["us"]["median"] > 0, watch
            assert watch["moved"] in (False, True) and watch["spread"] in (False, True), watch
    for working_set, words in [(8, "sets of 8 MiB"), (0, "one set")]:
        text = run(*SMALL_BENCH, "--element", "f16", "--device", found[0], "--working-set", working_set)[0]
        assert words in text and (" warm us " in text) == (working_set != 0), text


@test
def bench_measures_only_what_is_named():
    if not vulkan_devices():
        sys.exit(77)
    fused = json.loads(run(*SMALL_BENCH, "--fused", "--only", "kv_q8_0", "--json")[0])["rows"]
    assert fused and all("kv_q8_0" in row["fused"] for row in fused) and fused[0]["unfused_bytes"] > fused[0]["bytes"], fused
    if "LLVM 19" in run("devices")[0]:
        os.environ["LP_NATIVE_VECTOR_WIDTH"] = "512"  # without it LLVM may end the program (docs/portability.md)
    latent = json.loads(run("bench", "--tokens", "1", "--rounds", "2", "--fused", "--only", "mla", "--json")[0])["rows"]
    assert [row["fused"] for row in latent if row["bytes"] > 0] == ["mla_bf16", "mla_f8_e4m3"], latent
    rows = json.loads(run(*SMALL_BENCH, "--only", "out-of-place/f16", "--json")[0])["rows"]
    assert [(row["place"], row["element"]) for row in rows] == [("out-of-place", "f16")], rows


@test
def compare_runs_two_programs_in_turns():
    if RUNNER or not vulkan_devices():
        sys.exit(77)
    done = subprocess.run([sys.executable, COMPARE, PROGRAM, PROGRAM, "--pairs", "1", "--limit", "1000", *SMALL_BENCH[1:],
                           "--element", "f32", "--place", "in-place"], capture_output=True, text=True)
    assert done.returncode == 0 and re.fullmatch(r"llama3-8b half in-place 1 f32 inline .* ratio [0-9.]+\n", done.stdout), done


@test
def bench_times_nothing_that_is_wrong():
    """Interleaved bfloat16 is turned the wrong way."""
    found = vulkan_devices()
    if not found or not os.path.exists(SPOILED):
        sys.exit(77)
    command = " ".join(SMALL_BENCH) + f" --element f32,bf16 --pairing interleaved --device {found[-1]}"
    text, errors = run(shell=f"{RUN_SPOILED} {command} --json", status=1)
    for row in json.loads(text)["rows"]:
        assert ("wrong" in row) == (row["element"] == "bf16") == ("us" not in row), row
    assert errors.count("\n") == 1 and "2 of 4 cases were wrong or failed" in errors, errors
    text, _ = run(shell=f"{RUN_SPOILED} {command}", status=1)
    assert text.count("WRONG") == 2, text


@test
def bench_says_what_does_not_fit_and_goes_on():
    if not vulkan_devices():
        sys.exit(77)
    arguments = ["bench", "--model", "deepseek-v3", "--tokens", "1048576,1", "--rounds", "1", "--element", "f32", "--place",
                 "out-of-place"]
    rows = json.loads(run(*arguments, "--json")[0])["rows"]
    assert "MiB" in rows[0]["unfit"] and "us" not in rows[0] and "us" in rows[1], rows
    assert "not timed: " in run(*arguments)[0]


@test
def bench_counts_costs():
    if not vulkan_devices():
        sys.exit(77)
    costs = {cost["name"]: cost for cost in json.loads(run("bench", "--costs", "--json")[0])["costs"]}
    for name in ["plan", "dispatch", "record", "record_driver"]:
        assert costs[name]["us"] > 0 and costs[name].get("allocations", 0) == 0, costs[name]
        assert costs[name]["vulkan_allocations"] == 0
    assert costs["context"]["vulkan_allocations"] > 0 and costs["context"].get("allocations", 1) > 0
    assert costs["pipelines"]["us"] > 0 and costs["spirv/table"]["bytes"] > 1000
    assert "a plan, frequencies given" in run("bench", "--costs")[0]


@test
def bench_refuses_nonsense_in_one_line():
    before = sorted(os.listdir("."))
    for what, arguments, sentence in [
        ("model", ["--model", "llama3-8b,llama9"], "--model takes one of llama3-8b, "),
        ("tokens", ["--tokens", "1,0"], "--tokens takes a whole number of tokens from 1 to 1048576, not '0'"),
        ("no tokens", ["--tokens"], "--tokens needs a value"),
        ("element", ["--element", "f64"], "--element takes one of f32, f16, bf16, not 'f64'"),
        ("pairing", ["--pairing", "thirds"], "thirds"),
        ("place", ["--place", "here"], "in-place"),
        ("source", ["--source", "memory"], "memory"),
        ("rounds", ["--rounds", "0"], "--rounds takes a whole number of rounds"),
        ("clock", ["--clock", "sun"], "sun"),
        ("working set", ["--working-set", "-1"], "--working-set takes a whole number of MiB from 0 to 65536"),
        ("model of fused passes", ["--fused", "--model", "gemma3"], "--model goes with rotations"),
        ("element of encodings", ["--encodings", "--element", "f16"], "--element goes with rotations"),
        ("batch of tables", ["--table", "--batch", "2"], "--batch goes with rotations"),
        ("two layouts", ["--batch", "2", "--packed", "2"], "--batch and --packed are two layouts of sequences; give one of them"),
        ("tokens that are none", ["--tokens", "x"], "--tokens takes"),
        ("the reference", ["--device", "reference"], "--device is reference, which is no Vulkan device"),
        ("three of a tuning", ["--tuning", "64,8"], "--tuning takes group size, heads and pairs as 128,2,8"),
        ("four of a tuning", ["--tuning", "64,8,4,1"], "--tuning takes group size, heads and pairs"),
        ("tuning of costs", ["--costs", "--tuning", "64,8,4"], "--tuning goes with rotations"),
        ("tuning that is none", ["--tuning", "64,8,3"], "pairs is 3"),
        ("only nothing", ["--fused", "--only", "voodoo"], "--only: none of the measurements has 'voodoo' in its name"),
        ("only costs", ["--costs", "--only", "plan"], "--only goes with measurements, and --costs alone has none"),
        ("no such device", ["--device", "Voodoo"], "Voodoo"),
    ]:
        if what in ("no such device", "tuning that is none") and not vulkan_devices():
            continue
        expect_refusal(what, ["bench", *arguments], sentence, before)
