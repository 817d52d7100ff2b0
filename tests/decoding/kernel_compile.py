"""Compile the kernels for GPUs, with the compiler that Triton carries; no GPU is needed.

The interpreter accepts what the compiler refuses (types that change in a loop, say), so a machine
without a GPU needs both. Prints the name of each kernel that was compiled, and for what: by itself
in its largest form for Ampere, Hopper and Blackwell (A100, H100, B200), with the word ``all`` in
every form.
"""

from __future__ import annotations

import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from explorer.tokens.masks.kernels import mask_kernel, words_kernel

TYPES = {
    "logits": "*bf16",
    "token_class": "*i16",
    **dict.fromkeys(["needed_cells", "least"], "*i32"),
    **dict.fromkeys(["logits_stride", "width", "token_class_stride", "num_constraints"], "i32"),
}


CAPABILITIES = (80, 90, 100)


def compile_for_each(kernel: object, constants: dict[str, object], **types: str) -> None:
    names = kernel.arg_names  # pyright: ignore
    signature = {name: types.get(name) or TYPES.get(name, "*i64") for name in names}
    signature.update(dict.fromkeys(constants, "constexpr"))
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    for capability in CAPABILITIES:
        compiled = triton.compile(
            source, target=GPUTarget("cuda", capability, 32), options={"enable_fp_fusion": False}
        )
        assert compiled.asm["ptx"] and compiled.asm["cubin"]
        print(f"{compiled.metadata.name}:{capability}")


every = sys.argv[1:] == ["all"]
for limited, tensor in ((True, True), (False, True), (True, False))[: None if every else 1]:
    compile_for_each(
        mask_kernel,
        {"HAS_REMAINING": limited, "STEP_IS_TENSOR": tensor, "BLOCK": 4096},
        step="*i64" if tensor else "i32",
    )
compile_for_each(words_kernel, {"BLOCK": 4096}, words="*i32", words_stride="i32", num_words="i32")
