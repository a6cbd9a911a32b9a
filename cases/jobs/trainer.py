# SPDX-License-Identifier: Apache-2.0
"""Trains a Hugging Face Llama by the Hugging Face Trainer."""

import pathlib
import tempfile

from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

import common

OPTIMIZERS = {"plain": "adamw_torch", "fused": "adamw_torch_fused"}


class Samples(common.Text):
    def __getitem__(self, index):
        tokens, _ = super().__getitem__(index)
        return {"input_ids": tokens, "labels": tokens}


class Losses(TrainerCallback):
    def __init__(self, args):
        self.args = args

    def on_log(self, arguments, state, control, logs=None, **_):
        if "loss" in (logs or {}):
            common.say(self.args, f"step {state.global_step - 1} loss {logs['loss']:.6f}")


def main():
    args = common.arguments(__doc__, "autocast", "attention", "optimizer", "checkpoint", "clip")
    common.start(args, process_group=False)
    config = LlamaConfig.from_pretrained(pathlib.Path(__file__).parent / "llama_config.json")
    model = LlamaForCausalLM._from_config(config, attn_implementation=args.attention)
    if args.checkpoint:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=folder,
                max_steps=args.steps,
                per_device_train_batch_size=args.batch // args.world // args.microbatches,
                gradient_accumulation_steps=args.microbatches,
                learning_rate=args.lr,
                lr_scheduler_type="constant",
                weight_decay=0.1,
                max_grad_norm=args.clip,
                optim=OPTIMIZERS[args.optimizer],
                bf16=args.autocast == "bf16",
                train_sampling_strategy="sequential",
                dataloader_pin_memory=False,
                logging_steps=1,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                use_cpu=True,
                ddp_find_unused_parameters=False,
                seed=args.seed,
            ),
            train_dataset=Samples(args),
            callbacks=[Losses(args)],
        )
        trainer.train()
    common.finish(args, model)


if __name__ == "__main__":
    main()
