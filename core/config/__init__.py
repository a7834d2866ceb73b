"""The configuration file, and where files lie.

One TOML file names models and credentials::

    [models.local]
    provider = "openai-chat"
    base_url = "http://127.0.0.1:8080/v1"
    model = "qwen3"
    credential = "local-key"

    [credentials.local-key]
    placement = "header"
    field = "X-Api-Key"
    hosts = ["127.0.0.1:8080"]

Importing this package is cheap; the validator loads with the first file that has content.
"""

from core.config._load import load_config
from core.config._paths import config_path, database_path, default_database
from core.config._types import Config, CredentialEntry, ModelEntry

__all__ = [
    "Config",
    "CredentialEntry",
    "ModelEntry",
    "config_path",
    "database_path",
    "default_database",
    "load_config",
]
