"""`vkrope frequencies --json` prints what its schema says, and each name of the schema is printed for some model."""
import json
import os

from gguf import gguf
from program import expect_refusal, run, test

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "host", "program", "commands", "frequencies.schema.json")
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}
KNOWN = {"$schema", "title", "description", "type", "enum", "items", "properties", "required", "additionalProperties"}


def complaints(value, schema, where="it"):
    """Yields a sentence for each place where the value is not what the schema says."""
    assert set(schema) <= KNOWN, f"the schema has {set(schema) - KNOWN}, which this test does not read"
    wrong_type = not isinstance(value, TYPES[schema["type"]]) or (isinstance(value, bool) != (schema["type"] == "boolean"))
    if wrong_type:
        yield f"{where} is {value!r}, not of the type {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}, not one of {schema['enum']}"
    if schema["type"] == "array":
        for i, item in enumerate(value):
            yield from complaints(item, schema["items"], f"{where}[{i}]")
    if schema["type"] == "object":
        assert schema["additionalProperties"] is False, where
        for name in schema.get("required", []):
            if name not in value:
                yield f"{where} lacks {name}"
        for name, inner in value.items():
            if name not in schema["properties"]:
                yield f"{where} has {name}, which the schema does not have"
            else:
                yield from complaints(inner, schema["properties"][name], f"{where}.{name}")


def names_in(value, before=""):
    for name, inner in value.items():
        yield before + name
        if isinstance(inner, dict):
            yield from names_in(inner, before + name + ".")


def names_of(schema, before=""):
    for name, inner in schema.get("properties", {}).items():
        yield before + name
        yield from names_of(inner, before + name + ".")


def scaled(**rule):
    return dict(head_dim=8, rope_theta=10000, rope_parameters=rule)


LONGROPE = dict(rope_type="longrope", factor=4, original_max_position_embeddings=64, short_factor=[1, 1, 1, 1],
                long_factor=[2, 2, 2, 2], attention_factor=1.5)
CASES = [  # a configuration, options, what the answer must hold
    (dict(model_type="llama", num_hidden_layers=2), [],
     dict(model_type="llama", rule="default", rule_parameters={}, base=10000, head_dim=128, rotary_dim=128, rotary_offset=0,
          pairing="half", pairing_out="half", scale=1, layers=[0, 1], rotating_layers=[0, 1], still_layers=[],
          layer_types=[], warnings=[])),
    (dict(model_type="smollm3", num_hidden_layers=4), [], dict(layers=[0, 1, 2], still_layers=[3])),
    (dict(model_type="cohere2", num_hidden_layers=4), [],
     dict(layer_type="sliding_attention", type_of_layer=["sliding_attention"] * 3 + ["full_attention"])),
    (dict(model_type="gemma3_text", num_hidden_layers=6), [], dict(layers=[5], rotating_layers=[0, 1, 2, 3, 4, 5])),
    (dict(model_type="llama4_text", num_hidden_layers=4), [],
     dict(query_scale=dict(beta=0.1, interval=8192, offset=1, of_layers="still"))),
    (dict(model_type="ministral3"), [], dict(query_scale=dict(beta=0.1, interval=16384, offset=0, of_layers="rotating"))),
    (dict(model_type="deepseek_v3"), [], dict(nope_dim=128, head_dim=64, pairing="interleaved", pairing_out="half")),
    (dict(model_type="deepseek_v4"), [], dict(head_dim=512, rotary_dim=64, rotary_offset=448)),
    (dict(model_type="gemma4_text"), [], dict(rule="proportional", rule_parameters=dict(rotating_pairs=64))),
    (dict(model_type="qwen3_vl"), [], dict(axis_names=["t", "h", "w"])),
    (dict(model_type="dinov3_vit", hidden_size=48, num_register_tokens=4), [], dict(skip_first=5)),
    (dict(model_type="llama4_vision_model", hidden_size=128), [], dict(skip_last=1)),
    (dict(model_type="gemma4_vision", head_dim=8), [], dict(chunk_dim=4)),
    (dict(model_type="new", head_dim=8, rope_scaling=dict(type="ntk", factor=8, mixed_b=0.5)), [],
     dict(rule="ntk_mixed", rule_parameters=dict(factor=8, mixed_exponent=0.5))),
    (scaled(rope_type="linear", factor=4), [], dict(rule_parameters=dict(factor=4), pairing="unknown")),
    (scaled(rope_type="ntk", factor=4), [], dict(rule="ntk")),
    (dict(scaled(rope_type="dynamic", factor=4), max_position_embeddings=64), ["--length", 100],
     dict(rule="dynamic", rule_parameters=dict(factor=4, original_length=64, length=100))),
    (scaled(rope_type="yarn", factor=4, original_max_position_embeddings=64, mscale=0.5, mscale_all_dim=2, truncate=False),
     [], dict(rule_parameters=dict(factor=4, original_length=64, beta_fast=32, beta_slow=1, mscale=0.5, mscale_all_dim=2,
                                   keep_bounds=True))),
    (scaled(**LONGROPE), [], dict(scale=1.5, rule_parameters=dict(
        factor=4, original_length=64, length=64, attention_factor=1.5, short_factors=[1, 1, 1, 1],
        long_factors=[2, 2, 2, 2]))),
    (scaled(rope_type="llama3", factor=8, original_max_position_embeddings=64, low_freq_factor=2, high_freq_factor=3), [],
     dict(rule_parameters=dict(factor=8, original_length=64, low_freq_factor=2, high_freq_factor=3))),
    (scaled(rope_type="yarn_ramped", factor=4, original_max_position_embeddings=64), [],
     dict(rule_parameters=dict(factor=4, original_length=64, length=64, beta_fast=4, beta_slow=1))),
    (scaled(rope_type="yarn_temperature", factor=4), [],
     dict(rule_parameters=dict(factor=4, temperature=0.25, gamma=0.8))),
    (gguf("llama", {"attention.key_length": 8}, {"rope_freqs.weight": [1.5, 2, 2.5, 3]}), [], dict(rule_parameters=dict(factors=[1.5, 2, 2.5, 3]))),
    (dict(model_type="llama", partial_rotary_factor=0.5), [], dict(rotary_dim=128)),
]


@test
def json_is_what_the_schema_says():
    with open(SCHEMA) as file:
        schema = json.load(file)
    seen, rules = set(), set()
    for config, options, wanted in CASES:
        with open("config.json", "wb") as file:
            file.write(config if isinstance(config, bytes) else json.dumps(config).encode())
        text, errors = run("frequencies", "--config", "config.json", "--json", *options)
        got = json.loads(text)
        what = config if isinstance(config, dict) else "a .gguf"
        assert [*complaints(got, schema)] == [], f"{what}: {[*complaints(got, schema)]}"
        assert {name: got.get(name) for name in wanted} == wanted, f"{what}: {({name: got.get(name) for name in wanted})}"
        assert len(got["frequencies"]) * 2 == got["rotary_dim"], what
        warned = [line.split("warning: ")[1] for line in errors.splitlines()]
        assert warned == got["warnings"], f"{what}: {errors}"
        seen |= set(names_in(got))
        rules.add(got["rule"])
    assert seen == set(names_of(schema)), f"no case has {set(names_of(schema)) - seen}"
    assert rules == set(schema["properties"]["rule"]["enum"]), rules


@test
def the_schema_is_printed():
    with open(SCHEMA) as file:
        assert run("frequencies", "--json-schema") == (file.read(), "")
    before = sorted(os.listdir("."))
    for option in (["--config", "config.json"], ["--npy", "f.npy"], ["--json"], ["--layer", "1"]):
        expect_refusal(str(option), ["frequencies", "--json-schema", *option], "excludes", before)
    expect_refusal("neither", ["frequencies", "--json"], "--config is missing", before)


@test
def the_schema_is_not_a_matter_of_course():
    """The validator of this test finds what it is made for."""
    with open(SCHEMA) as file:
        schema = json.load(file)
    with open("config.json", "w") as file:
        json.dump(dict(model_type="llama", num_hidden_layers=2), file)
    good = json.loads(run("frequencies", "--config", "config.json", "--json")[0])
    assert [*complaints(good, schema)] == []
    spoiled = [dict(good, other=1), dict(good, scale="1"), dict(good, rule="linea"), dict(good, layers=[0.5]),
               dict(good, head_dim=True), dict(good, rule_parameters=dict(factr=1)),
               {name: value for name, value in good.items() if name != "frequencies"}]
    for bad in spoiled:
        assert len([*complaints(bad, schema)]) == 1, bad
