"""Compile the kernels for a Hopper GPU, with the compiler that Triton carries; none is needed.

The interpreter accepts what the compiler refuses (types that change in a loop, say), so a machine
without a GPU needs both. Prints the name of each kernel that was compiled: by itself in its largest
form, with the word ``all`` in every form.
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


def compile_for_hopper(kernel: object, constants: dict[str, object], **types: str) -> None:
    names = kernel.arg_names  # pyright: ignore
    signature = {name: types.get(name) or TYPES.get(name, "*i64") for name in names}
    signature.update(dict.fromkeys(constants, "constexpr"))
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    compiled = triton.compile(
        source, target=GPUTarget("cuda", 90, 32), options={"enable_fp_fusion": False}
    )
    assert compiled.asm["ptx"]
    print(compiled.metadata.name)


every = sys.argv[1:] == ["all"]
for limited, tensor in ((True, True), (False, True), (True, False))[: None if every else 1]:
    compile_for_hopper(
        mask_kernel,
        {"HAS_REMAINING": limited, "STEP_IS_TENSOR": tensor, "BLOCK": 4096},
        step="*i64" if tensor else "i32",
    )
compile_for_hopper(words_kernel, {"BLOCK": 4096}, words="*i32", words_stride="i32", num_words="i32")
