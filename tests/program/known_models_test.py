"""`vkrope models`, held against what `vkrope frequencies` makes of each name."""
import json
import os
import subprocess

from program import COMMAND, expect_refusal, run, test


def listed(*options):
    rows, text = json.loads(run("models", "--json", *options)[0]), run("models", *options)[0].splitlines()
    assert [line.split()[0] for line in text] == [row["name"] for row in rows]
    for line, row in zip(text, rows):
        assert f" {row['kind']}: " in line and all(trait in line for trait in row["traits"]), line
    return rows


@test
def models_that_are_listed_are_known():
    rows = listed()
    assert len(rows) == len({row["name"] for row in rows}) > 250
    assert {row["kind"] for row in rows} == {"text", "image", "diffusers"}
    for row in [row for row in rows if row["kind"] == "text"][::9]:
        sizes = dict(head_dim=64, hidden_size=256, num_attention_heads=4, position_embedding_type="rotary")
        with open("config.json", "w") as file:
            json.dump(dict(model_type=row["name"], **sizes), file)
        done = subprocess.run([*COMMAND, "frequencies", "--config", "config.json", "--json"], capture_output=True, text=True)
        assert "not known" not in done.stderr, done.stderr
        if done.returncode == 0:
            assert json.loads(done.stdout)["pairing"] == row["pairing"], row
    named = {row["name"]: row for row in rows}
    assert named["gemma3_text"] == dict(name="gemma3_text", kind="text", pairing="half", base=1e6, traits=["layers differ"])
    assert named["deepseek_v3"]["traits"] == ["written as half pairs", "split heads"]
    assert named["glm"]["traits"] == ["part of the head"] and named["nanochat"]["traits"] == ["turns backwards"]
    assert named["qwen2_vl_text"]["traits"] == ["axes t h w"] and named["Yi"]["traits"] == ["code of its own"]
    odd = ["axes t h w", "39 pairs: in float32, or in 16 bits with weights permuted to interleaved pairs"]
    assert [row["name"] for row in rows if any("16 bits" in trait for trait in row["traits"])] == ["minimax_m3_vl_vision"]
    assert named["minimax_m3_vl_vision"]["traits"] == odd
    assert named["pixtral"]["kind"] == "image" and named["FluxTransformer2DModel"]["kind"] == "diffusers"
    assert [row["name"] for row in listed("qwen2_5_vl")] == ["qwen2_5_vl_text", "qwen2_5_vl_vision"]
    assert [row["name"] for row in listed("llama")] == ["llama"]


@test
def architectures_are_listed():
    named = {row["name"]: row for row in listed("--gguf")}
    assert len(named) > 100 and all(row["kind"] == "gguf" for row in named.values())
    assert named["llama"]["pairing"] == "interleaved" and named["gemma3"]["pairing"] == "half"
    assert named["bert"] == dict(name="bert", kind="gguf", pairing="none", traits=["no rotation"])
    assert named["qwen3vl"]["traits"] == ["axes round robin"] and named["deepseek2"]["traits"] == ["end of the head"]


@test
def models_that_are_not_known_are_refused_with_the_nearest():
    before = sorted(os.listdir("."))
    for arguments, sentence in [(["gema3"], "the model 'gema3' is not known; there are 'gemma3_text', 'gemma3n_text', 'gemma', "),
                                (["DeepseekV3ForCausalLM"], "there are 'deepseek_v3', 'deepseek_v32', "),
                                (["Qwen2_5_VLForConditionalGeneration"], "there are 'qwen2_5_vl_text', "),
                                (["mistrall"], "there are 'mistral', "),
                                (["whisperx"], "there are 'whisper', "),
                                (["--gguf", "lama"], "the architecture 'lama' is not known; there are 'llama', "),
                                (["bert"], "the model 'bert' has no rotation that is read: a table of its checkpoint"),
                                (["LTXVideoTransformer3DModel"], "has no rotation that is read: each head"),
                                ([""], "name is empty"), (["llama", "gemma"], "gemma"), (["a" * 3000], "aaa...' is not known"), (["--json", "a\nb"], " is not known")]:
        expect_refusal(str(arguments), ["models", *arguments], sentence, before)
