"""Places an assignment's models where the Hugging Face libraries look for earlier downloads.

A folder with a configuration or a tokenizer is found by its path and by its own name, as if it came from the
hub: `AutoTokenizer.from_pretrained("tiny-gpt2")`. Nothing is ever downloaded: there is no network.
"""

from __future__ import annotations

from pathlib import Path

HUB = "/hub"
"""The folder in a box that the libraries search."""
OFFLINE = {
    "DO_NOT_TRACK": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_EVALUATE_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_UPDATE_DOWNLOAD_COUNTS": "0",
    "TRANSFORMERS_OFFLINE": "1",
    "WANDB_MODE": "offline",
}
"""Variables that keep libraries from trying, and from retrying."""


def build_environment(hub: str) -> dict[str, str]:
    """Build the environment variables of a box; libraries look for downloads in ``hub``."""
    # Clients read the machine's certificates when they are created, and a box may not.
    return {**OFFLINE, "HF_HUB_CACHE": hub, "SSL_CERT_DIR": hub}


_SIGNS = ("config.json", "tokenizer.json", "tokenizer_config.json")
_REVISION = "0" * 40


def lay_out(root: str, data: str, *, seen_below: str = "") -> None:
    """Make the folder of downloads below a root, from the models in its data folder.

    Args:
        root: of the files that a box sees.
        data: the folder of the assignment's files, below it.
        seen_below: the path of the root in a box; empty: it is the box's own root.
    """
    hub = Path(root + HUB)
    hub.mkdir(exist_ok=True)
    for folder in sorted({path.parent for sign in _SIGNS for path in Path(root + data).rglob(sign)}):
        path = folder.relative_to(root + data).as_posix()
        for name in {path, folder.name} - {"."}:
            model_folder = hub / f"models--{name.replace('/', '--')}"
            if model_folder.exists():
                continue
            # The layout of the library's cache: refs/main names a revision, and snapshots holds it.
            (model_folder / "refs").mkdir(parents=True)
            (model_folder / "refs/main").write_text(_REVISION)
            (model_folder / "snapshots").mkdir()
            (model_folder / "snapshots" / _REVISION).symlink_to(f"{seen_below}{data}/{path}")
