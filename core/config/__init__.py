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

from core.config._allow import AllowList
from core.config._hosts import canonical_host, parse_address
from core.config._load import load_config
from core.config._names import (
    field_fault,
    is_body_field,
    is_header_name,
    is_header_value,
    is_reserved_header,
    is_secret_name,
)
from core.config._paths import config_folder, config_path, database_path, default_database
from core.config._types import (
    DEFAULT_FIELDS,
    Config,
    CredentialEntry,
    KeysEntry,
    ModelEntry,
    OAuthEntry,
    Placement,
)

__all__ = [
    "DEFAULT_FIELDS",
    "AllowList",
    "Config",
    "CredentialEntry",
    "KeysEntry",
    "ModelEntry",
    "OAuthEntry",
    "Placement",
    "canonical_host",
    "config_folder",
    "config_path",
    "database_path",
    "default_database",
    "field_fault",
    "is_body_field",
    "is_header_name",
    "is_header_value",
    "is_reserved_header",
    "is_secret_name",
    "load_config",
    "parse_address",
]
