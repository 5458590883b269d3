"""The patterns of files that never travel, the same for the command line, the SDK and the page.

`make generate` writes them into the page. Names follow the syntax of .gitignore and are compared in lower case; contents are
regular expressions that Python and JavaScript read alike, with `^` at every line.
"""

from __future__ import annotations

IGNORE_FILE = ".gradstreamignore"
"""In the packed folder's root, in the syntax of .gitignore. `!pattern` packs files that a rule below leaves out."""

CACHES = (
    ".git/",
    ".hg/",
    ".svn/",
    "__pycache__/",
    "*.py[co]",
    ".venv/",
    "venv/",
    "node_modules/",
    "*.egg-info/",
    ".mypy_cache/",
    ".ruff_cache/",
    ".pytest_cache/",
    ".ipynb_checkpoints/",
    ".idea/",
    ".vscode/",
    ".ds_store",
)
"""Left out without a message: no job needs them."""

DOT_FILES = (".*", f"!{IGNORE_FILE}")

CREDENTIALS = (
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*_rsa",
    "*_ed25519",
    "!*.pub",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.keychain",
    "*.keychain-db",
    "*.psafe3",
    "*.ppk",
    "*.ovpn",
    "*.gpg",
    "*.agekey",
    ".ssh/",
    ".aws/",
    ".azure/",
    ".kube/",
    ".gnupg/",
    ".docker/",
    ".secrets/",
    "secrets/",
    ".netrc",
    "_netrc",
    "netrc",
    ".pypirc",
    "pypirc",
    ".npmrc",
    "npmrc",
    ".pgpass",
    "pgpass",
    "pgpass.conf",
    ".my.cnf",
    "my.cnf",
    ".git-credentials",
    "git-credentials",
    ".htpasswd",
    "htpasswd",
    ".dockercfg",
    ".dockerconfigjson",
    ".vault-token",
    ".terraformrc",
    "terraform.rc",
    ".*_history",
    "kubeconfig",
    "kubeconfig.*",
    "*.kubeconfig",
    "*-kubeconfig",
    "credentials",
    "credentials.*",
    "*[-_]credentials",
    "*[-_]credentials.*",
    "client_secret*.json",
    "*service[-_]account*.json",
    "*serviceaccount*.json",
    "secret",
    "secrets",
    "secret.*",
    "secrets.*",
    "*[-_]secret.*",
    "*[-_]secrets.*",
    "*.secret",
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "password",
    "passwords",
    "*password.txt",
    "*passwords.txt",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "*accesskeys.csv",
    "kaggle.json",
    "s3cfg",
    "rclone.conf",
    "boto.cfg",
    "*.keytab",
    "*.p8",
    "settings-security.xml",
    "rootkey.csv",
    "wallet.dat",
    "!*.py",
    "!*.pyi",
)
"""Names of files that hold keys and passwords. A module may have any name: its content says whether it holds one."""

TOKENS = (
    "token",
    "*.token",
    "token.txt",
    "token.json",
    "*[-_]token",
    "*[-_]token.txt",
    "api[-_]key*",
    "apikey*",
    "*[-_]api[-_]key*",
    "key.txt",
    "keys.txt",
    "*[-_]key",
    "*[-_]key.txt",
    "*[-_]keys.txt",
    "!*public[-_]key*",
    "!*.py",
)
"""Names of files that hold a token if they are small: data sets of language have such names, too."""
TOKEN_SIZE = 4096

CONTENTS = {
    "a private key": r"(?:^|\0)[ \t]*-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"|^PuTTY-User-Key-File-|\bAGE-SECRET-KEY-1|^[ \t]{0,8}PrivateKey[ \t]{0,8}=[ \t]{0,8}[A-Za-z0-9+/]{43}=",
    "the key of a service account": r'"type"\s*:\s*"service_account"|"private_key"\s*:\s*"-----BEGIN',
    "an OAuth secret": r'"(?:client_secret|refresh_token)"\s*:\s*"[^"]{10,}"',
    "a key of AWS": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\b[Aa][Ww][Ss]_[A-Za-z_]+_[Kk][Ee][Yy]\\?[\"']?\]?\s{0,8}[=:]\s{0,8}"
    r"\\?[\"']?[A-Za-z0-9/+=]{16,}",
    "a token of GitHub": r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{30,}",
    "a token of GitLab": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "a token of Telegram": r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b",
    "a token of Slack": r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "a token of Hugging Face": r"\bhf_[A-Za-z0-9]{30,}",
    "an API key": r"\bsk-[A-Za-z0-9_-]{32,}|\bAIza[0-9A-Za-z_-]{35}|\b[sr]k_live_[A-Za-z0-9]{16,}"
    r"|\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b",
    "a token of a package registry": r"\bnpm_[A-Za-z0-9]{36}|\bpypi-[A-Za-z0-9_-]{16,}|_authToken\s*=\s*\S{8,}",
    "a token of Gradstream": r"\bgs[cijpt]_[A-Za-z0-9_-]{20,}",
    "a sign-in to a cluster": r"^[ \t]*client-key-data:\s*\S{16,}|^current-context:\s*\S",
    "a sign-in to a registry of images": r'"auths"\s*:\s*\{\s*"',
    "a signed token (JWT)": r"eyJ[A-Za-z0-9_-]{10,512}\.eyJ[A-Za-z0-9_-]{10,2048}\.[A-Za-z0-9_-]{10,}",
    "a key, a token or a password": r"(?:API_?KEY|api_?key|[aA]piKey|SECRET|secret|SECRET_?KEY|secret_?key|secretKey|TOKEN|token"
    r"|PASSWORD|password)"
    r"\\?[\"']?\]?[ \t]{0,8}[=:][ \t]{0,8}\\?[\"'](?=[^\"'\s]{0,200}[0-9])(?=[^\"'\s]{0,200}[A-Za-z])"
    r"[A-Za-z0-9/+_=.-]{20,200}\\?[\"']"
    r"|^[ \t]{0,8}(?:[a-z]{1,20}_)?(?:api_?key|access_?key|secret_?key|access_token|auth_token|secret|token)[ \t]{0,8}=[ \t]{0,8}"
    r"(?=[^\s]{0,200}[0-9])(?=[^\s]{0,200}[A-Za-z])[A-Za-z0-9/+=-]{24,200}[ \t]*$"
    r"|^[ \t]{0,8}(?:export[ \t]+)?[A-Za-z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD)="
    r"(?=\S{0,200}[0-9])(?=\S{0,200}[A-Za-z])[A-Za-z0-9/+_=-]{20,200}[ \t]*$",
    "a password in a URL": r"[a-z]://[^\s:/@\"'{}<>$%()]{1,64}:[^\s:/@\"'{}<>$%()*]{3,64}@(?!localhost\b|127\.|\[::1)[A-Za-z0-9\[]",
    "a password of a server": r"<password>[^<{}$\s]{3,}</password>",
    "the key of an Azure account": r"\bAccountKey=[A-Za-z0-9+/]{40,}",
    "the state of Terraform": r'"terraform_version"\s*:\s*"',
    "a password of Postgres": r"^[A-Za-z0-9*][A-Za-z0-9.*-]{0,252}:(?:\d{4,5}|\*):[^:\s]{1,64}:[^:\s]{1,64}:[^:\s]{3,}[ \t]*$",
    "a password or a token in YAML": r"^[ \t]{0,64}(?:-[ \t]{1,8})?(?:[a-z_]{0,60}_)?password:[ \t]{1,8}[\"']?"
    r"(?=[A-Za-z_@!#+-]{0,64}\d)"
    r"[A-Za-z0-9_@!#+-]{4,64}[\"']?[ \t]*$"
    r"|^[ \t]{0,64}token:[ \t]{1,8}[\"']?(?=[A-Za-z_.-]{0,64}\d)[A-Za-z0-9_.-]{20,}[\"']?[ \t]*$",
    "a password in a file of settings": r"^\[[A-Za-z0-9_ .:-]{1,60}\][ \t]*\n(?:[^\[\n]{0,200}\n){0,40}?"
    r"[ \t]{0,8}(?:[a-z_]{0,40})?passw(?:or)?d[ \t]{0,8}[=:][ \t]{0,8}(?![{$<%*])(?=\S{0,200}\d)\S{6,}[ \t]*$",
    "the hash of a password": r":\$(?:1|2[aby]|5|6|y|apr1)\$[A-Za-z0-9./$]{16,}",
    "a sign-in of a web client": r"\b[Aa]uthorization\\?[\"']?[ \t]{0,8}[:=,][ \t]{0,8}f?\\?[\"']?(?:[Bb]earer|[Bb]asic)[ \t]{1,8}"
    r"(?=[^\s]{0,200}[0-9])[A-Za-z0-9._~+/=-]{20,}"
    r"|\bcurl\b[^\n]{0,200}[ \t](?:-u|--user)[ \t]{1,8}[\"']?[A-Za-z0-9_.@-]{1,64}:[^\s$\"'{<]{4,64}"
    r"|^# (?:Netscape )?HTTP Cookie File",
    "a password in the environment": r"^[ \t]{0,8}(?:export[ \t]+)?[A-Z0-9_]{0,60}(?:PASSWORD|PASSWD)="
    r"[A-Za-z0-9/+_=!@#-]{6,200}[ \t]*$",
    "a machine's password": r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+\S+",
}
SCANNED = 64 * 1024
"""Bytes of each file that are searched for `CONTENTS`, and of a bundle's files at the platform."""
SCANNED_OF_TEXT = 1024 * 1024
"""Bytes of a file of text that the sender searches: a notebook's outputs are long."""
