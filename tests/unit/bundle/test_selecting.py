"""Nothing leaves a machine that was not meant to: what of a folder never travels, and why."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest

from gradstream import bundle, marker
from gradstream.errors import InvalidBundle

SECRET = "x" * 40
FILES = {
    "circle.py": "import torch",
    "job.yaml": "name: circle",
    "nets/cnn.py": "import torch",
    "vocab/tokens.txt": "a\nb",
    "tokenizer.json": "{}",
    "keys.py": "KEYS = 3",
    "secrets_of_training.md": "none",
    "labels.csv": "machine,login",
    "secret_santa/model.py": "x = 1",
    "settings.py": "api_key = os.environ['MY_SERVICE_KEY_2']\ntoken = read_token_of_the_user_2(path)\nPASSWORD_FIELD = 'a'\n",
    "local.yaml": "url: redis://:password@localhost:6379\nother: postgres://{user}:{password}@db/x\nsecret: ${SECRET}\n",
    "words.yaml": "password: Passwort\ntoken: a\npassword2: ${PASSWORD_2}\ntime: 12:30:10:5\n",
    "headers.py": "headers = {'Authorization': f'Bearer {token}'}\ntoken = layer2_normalization_block_of_tokens\n",
    "setup.cfg": "[flake8]\nmax-line-length = 100\n[upload]\npassword = ${PASSWORD_2}\n",
    "lists.py": "X = [\n[1]\n]\n\ndef f():\n    password = None\n    return 1\n",
    "get_it.sh": "curl -u $USER:$PASSWORD_2 https://db.example\ncurl -o x:12345 y\n",
    "keywords.py": "PASSWORD=None\nPASSWORD=os.environ['PASSWORD']\n",
}
CREDENTIALS = {
    ".ssh/id_rsa": "key",
    ".aws/credentials": "[default]",
    "aws/credentials": "[default]",
    "deploy/kubeconfig": "clusters: []",
    "deploy/prod.env": "PASSWORD=1",
    ".env.local": "PASSWORD=1",
    ".netrc": "machine x",
    "netrc": "machine x",
    "server.pem": "",
    "certs/server.key": "",
    "id_ed25519": "",
    "gcp/my-service-account.json": "{}",
    "credentials.json": "{}",
    ".pypirc": "",
    "sub/.npmrc": "",
    "secrets.toml": "",
    "config/secrets.yaml": "",
    "secrets/db": "",
    "hub_token": SECRET,
    "api-key.txt": SECRET,
    "passwords.txt": "",
    "terraform.tfstate": "{}",
    "client_secret_1.json": "{}",
    "vault.kdbx": "",
    "login.keychain-db": "",
    "Credentials.JSON": "{}",
    "kaggle.json": "{}",
    "pgpass": "",
    "my.cnf": "",
}
CONTENTS = {
    "notes.txt": "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n",
    "a/bundle.crt": "-----BEGIN CERTIFICATE-----\nx\n-----BEGIN PRIVATE KEY-----\n",
    "b.json": json.dumps({"type": "service_account", "project": "x"}),
    "conf.yaml": f"hub: hf_{'a' * 34}\n",
    "readme.md": f"use ghp_{'A1' * 18} here",
    "deploy.py": f"KEY = 'AKIA{'A' * 16}'",
    "c.cfg": f"aws_secret_access_key = {SECRET}\n",
    "k.yml": "apiVersion: v1\ncurrent-context: prod\n",
    "d.json": '{"auths": {"registry": {}}}',
    "e": "machine x login me password 1234",
    "jwt.txt": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{'a1' * 12}",
    "run.sh": "psql postgres://ada:w0rd9x@db.example/x\n",
    "env.sh": f"export WANDB_API_KEY={'0a1b' * 10}\n",
    "client.py": f"Client(api_key='{'0a1b' * 10}')\n",
    "settings.xml": "<server><password>w0rd9x</password></server>",
    "f.ini": f"//registry/:_authToken={SECRET}",
    "g.txt": f"gst_{SECRET}",
    "h.txt": "\ufeff-----BEGIN RSA PRIVATE KEY-----\n",
    "i.txt": "x" * 70_000 + "\n-----BEGIN PRIVATE KEY-----\n",
    "backup.tar": "deploy\0\0-----BEGIN OPENSSH PRIVATE KEY-----\n",
    "azure.txt": f"AccountName=a;AccountKey={'aB3+' * 20}==;EndpointSuffix=x",
    "state.json": '{"version": 4, "terraform_version": "1.5.0", "outputs": {}}',
    "pg": "# host:port:db:user:password\ndb.example:5432:*:ada:w0rd9x\n",
    "cluster.yml": f"users:\n- user:\n    token: {'a1' * 12}\n",
    "db.yaml": "user: ada\ndb_password: 'hunter2'\n",
    "env.production": "DB_HOST=x\nDB_PASSWORD=correcthorse\n",
    "join.txt": f"gsj_{SECRET}",
    "a.ipynb": json.dumps({"source": [f"os.environ['AWS_SECRET_ACCESS_KEY']='{'aB3+' * 10}'"]}),
    "b.ipynb": json.dumps({"source": [f'os.environ["WANDB_API_KEY"] = "{"0a1b" * 10}"']}),
    "wandb.cfg": f"[default]\napi_key = {'0a1b' * 10}\n",
    "pw.ini": "[database]\nuser = ada\npassword = Tr0ub4dor&3xyz\n",
    "wg0.conf": f"[Interface]\nPrivateKey = {'aB3+' * 10}abc=\n",
    "shadow.bak": f"root:$6$abcdefgh${'aB3/' * 20}:19000:0:99999:7:::\n",
    "bearer.py": f"headers = {{'Authorization': 'Bearer {'0a1b' * 10}'}}\n",
    "get.sh": "curl -s -u ada:hunter2 https://db.example\n",
    "cookies.txt": "# Netscape HTTP Cookie File\n",
    "mail.py": f"SG.{'a1' * 11}.{'b2' * 21}c",
    "bot.py": f"run('123456789:AA{'b2c' * 11}')",
}


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def names(packed: bundle.Bundle) -> set[str]:
    return {file.path for file in packed.files}


def reasons(packed: bundle.Bundle) -> dict[str, str]:
    return {each.path: each.reason for each in packed.left_out}


def test_credentials_stay_by_name_and_by_content_and_code_travels(tmp_path: Path) -> None:
    packed = bundle.pack(write(tmp_path, FILES | CREDENTIALS | CONTENTS))
    assert names(packed) == set(FILES)
    kinds = {each.path: each.why for each in packed.left_out}
    assert {path: kinds[path] for path in CONTENTS} == dict.fromkeys(CONTENTS, "credentials")
    assert kinds[".ssh/"] == kinds[".aws/"] == kinds["secrets/"] == "credentials"
    assert reasons(packed)["a/bundle.crt"] == "a file with a private key in it (line 3)"


def test_a_credential_is_taken_in_by_its_name_only(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "circle.py": "",
            "ca.pem": "public",
            "b.pem": "",
            ".aws/config": "x",
            ".aws/credentials": "y",
            ".flags": "",
            ".x/y/z": "1",
        },
    )
    (tmp_path / bundle.IGNORE_FILE).write_text("!*.pem\n!.*\n!.aws/*\n")
    assert names(bundle.pack(tmp_path)) == {bundle.IGNORE_FILE, "circle.py", ".flags", ".x/y/z"}, "a wildcard names nobody"
    (tmp_path / bundle.IGNORE_FILE).write_text("!ca.pem\n!.flags\n!.aws/config\n!.x/y/z\n")
    assert names(bundle.pack(tmp_path)) == {bundle.IGNORE_FILE, "circle.py", "ca.pem", ".flags", ".aws/config", ".x/y/z"}


def test_dot_files_and_dot_folders_stay(tmp_path: Path) -> None:
    packed = bundle.pack(
        write(tmp_path, {"circle.py": "", ".bash_history": "", ".config/x": "", "sub/.hidden": "", "sub/.d/x": ""})
    )
    assert names(packed) == {"circle.py"}
    assert set(reasons(packed)) == {".bash_history", ".config/", "sub/.hidden", "sub/.d/"}


def test_what_version_control_ignores_stays(tmp_path: Path) -> None:
    files = {
        ".gitignore": "*.log\n/top.txt\ndata/\n!keep.log\n",
        ".git/info/exclude": "mine.txt\n",
        "jobs/.gitignore": "*.csv\n",
        "jobs/circle/.gitignore": "local.yaml\n!small.csv\n",
        "jobs/circle/circle.py": "",
        "jobs/circle/run.log": "",
        "jobs/circle/keep.log": "",
        "jobs/circle/top.txt": "",
        "jobs/circle/mine.txt": "",
        "jobs/circle/data/x": "",
        "jobs/circle/big.csv": "",
        "jobs/circle/small.csv": "",
        "jobs/circle/local.yaml": "",
        "jobs/circle/nets/.gitignore": "*.py\n",
        "jobs/circle/nets/old.py": "",
    }
    write(tmp_path, files)
    folder = tmp_path / "jobs" / "circle"
    packed = bundle.pack(folder)
    assert names(packed) == {"circle.py", "keep.log", "top.txt", "small.csv"}
    assert reasons(packed)["nets/old.py"] == "listed in nets/.gitignore"
    assert reasons(packed)["mine.txt"] == "listed in " + str(tmp_path / ".git/info/exclude")
    (folder / bundle.IGNORE_FILE).write_text("!data/x\n!local.yaml\n")
    assert names(bundle.pack(folder)) == {
        bundle.IGNORE_FILE,
        "circle.py",
        "keep.log",
        "top.txt",
        "small.csv",
        "data/x",
        "local.yaml",
    }


def test_the_ignore_file_of_the_user_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = write(tmp_path / "home", {".config/git/ignore": "*.mine\n", "other": "*.other\n", "third": "*.third\n"})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    code = write(tmp_path / "code", {"w.py": "", "a.mine": "", "b.other": "", "c.third": "", "sub/d.mine": ""})
    assert names(bundle.pack(code)) == {"w.py", "b.other", "c.third"}
    write(home, {".gitconfig": "[user]\n\tname = a\n[core]\n\tautocrlf = input\n\texcludesFile = ~/other\n[x]\n"})
    packed = bundle.pack(code)
    assert names(packed) == {"w.py", "a.mine", "c.third", "sub/d.mine"}
    assert reasons(packed) == {"b.other": f"listed in {home / 'other'}"}
    write(code, {".git/config": f"[core]\n excludesfile = {home / 'third'}\n"})
    assert names(bundle.pack(code)) == {"w.py", "a.mine", "b.other", "sub/d.mine"}, "a repository's own setting comes first"


def test_keys_in_text_of_windows_are_found(tmp_path: Path) -> None:
    write(tmp_path, {"w.py": ""})
    for name in ("utf-16-le", "utf-16-be"):
        (tmp_path / f"{name}.txt").write_bytes("\ufeffmine\n-----BEGIN PRIVATE KEY-----\n".encode(name))
    assert names(bundle.pack(tmp_path)) == {"w.py"}


def test_keys_in_archives_are_found_and_data_travels(tmp_path: Path) -> None:
    key = b"-----BEGIN OPENSSH PRIVATE KEY-----\n"
    write(tmp_path, {"job.yaml": "name: circle"})
    plain, packed_tar = {"readme.txt": b"data", "rows.csv": b"1,2\n" * 100_000}, io.BytesIO()
    for name, files in (
        ("named.zip", {**plain, "home/.ssh/id_rsa": b"x"}),
        ("held.zip", {**plain, "notes.txt": key}),
        ("data.zip", plain),
    ):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in files.items():
                archive.writestr(path, content)
    with tarfile.open(fileobj=packed_tar, mode="w") as made:
        info = tarfile.TarInfo("deep/notes.txt")
        info.size = len(key)
        made.addfile(info, io.BytesIO(key))
    (tmp_path / "held.tar.gz").write_bytes(gzip.compress(packed_tar.getvalue()))
    (tmp_path / "held.txt.gz").write_bytes(gzip.compress(b"\n" * 500 + key))
    (tmp_path / "held.xz").write_bytes(lzma.compress(key))
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 3_000_000))
    (tmp_path / "cut.zip").write_bytes((tmp_path / "data.zip").read_bytes()[:500])
    packed = bundle.pack(tmp_path)
    assert [file.path for file in packed.files] == ["cut.zip", "data.zip", "job.yaml", "rows.csv.gz"]
    reasons = {each.path: each.reason for each in packed.left_out}
    assert reasons == {
        "named.zip": "an archive with a credential in it: home/.ssh/id_rsa",
        "held.zip": "an archive with a private key in it: notes.txt",
        "held.tar.gz": "an archive with a private key in it: deep/notes.txt",
        "held.txt.gz": "an archive with a private key in it: its content",
        "held.xz": "an archive with a private key in it: its content",
    }


def test_a_bare_key_in_a_file_whose_name_tells_it_stays(tmp_path: Path) -> None:
    names = ["wandb_key", "hf-key.txt", "key.txt"]
    packed = bundle.pack(write(tmp_path, {"public_key.txt": "0a" * 20, "keyboard.txt": "q", **{name: "0a" * 20 for name in names}}))
    assert [file.path for file in packed.files] == ["keyboard.txt", "public_key.txt"]
    assert {each.path for each in packed.left_out} == set(names)


def test_a_worktree_finds_the_excludes_of_its_repository(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"main/.git/info/exclude": "mine.txt\n", "main/.git/worktrees/w/commondir": "../..\n", "w/circle.py": "", "w/mine.txt": ""},
    )
    (tmp_path / "w" / ".git").write_text(f"gitdir: {tmp_path / 'main/.git/worktrees/w'}\n")
    assert names(bundle.pack(tmp_path / "w")) == {"circle.py"}


def test_a_folder_that_its_repository_ignores_is_meant_when_it_is_named(tmp_path: Path) -> None:
    write(
        tmp_path, {".gitignore": "*\n", ".git/HEAD": "", "circle/circle.py": "", "circle/.gitignore": "*.log", "circle/x.log": ""}
    )
    assert names(bundle.pack(tmp_path / "circle")) == {"circle.py"}


def test_outputs_of_gradstream_stay(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "circle.py": "",
            "circle.out/1/store/model": "",
            "circle-dd4f6c71/job.yaml": "",
            "model.safetensors": "",
            "old.out/redis.log": "",
        },
    )
    for folder in ("processes", "store"):
        (tmp_path / "old.out" / folder).mkdir()
    (tmp_path / "old.out" / "processes" / "code").symlink_to(tmp_path)
    marker.write_marker(tmp_path / "circle.out", "training")
    marker.write_marker(tmp_path / "circle-dd4f6c71", "download")
    marker.write_marker(tmp_path, "files", ["model.safetensors"])
    packed = bundle.pack(tmp_path)
    assert names(packed) == {"circle.py"}
    assert {each.path for each in packed.left_out if each.why == "output"} == {
        "circle.out/",
        "circle-dd4f6c71/",
        "model.safetensors",
        "old.out/",
    }


def test_a_link_to_what_stays_stays(tmp_path: Path) -> None:
    write(tmp_path, {"circle.py": "", ".hidden": "1", "credentials": "2", "real.txt": "3"})
    for name, target in (
        ("plain.txt", ".hidden"),
        ("more.txt", "credentials"),
        ("again.txt", "plain.txt"),
        ("alias.txt", "real.txt"),
    ):
        (tmp_path / name).symlink_to(target)
    packed = bundle.pack(tmp_path)
    assert names(packed) == {"circle.py", "real.txt", "alias.txt"}
    assert reasons(packed)["plain.txt"] == "a link to .hidden, which is left out"


@pytest.mark.parametrize("folder", ["/", "/tmp", "/dev", "/dev/fd", "/proc", "/proc/self", "/etc", "/home", "/usr"])
def test_folders_of_the_system_are_no_projects(folder: str) -> None:
    with pytest.raises(InvalidBundle, match="nothing of it is sent"):
        bundle.pack(Path(folder))


def test_a_home_folder_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = write(
        tmp_path / "home" / "ada", {"job.yaml": "", "circle.py": "", ".ssh/id_rsa": "", ".bash_history": "", "work/circle.py": ""}
    )
    with pytest.raises(InvalidBundle, match="laid out like a home folder"):
        bundle.pack(home)
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(InvalidBundle, match="your home folder"):
        bundle.pack(home)
    with pytest.raises(InvalidBundle, match="your home folder in it"):
        bundle.pack(tmp_path)
    assert names(bundle.pack(home / "work")) == {"circle.py"}
    assert names(bundle.pack(home / "circle.py")) == {"circle.py"}


def test_a_file_that_is_a_credential_is_not_sent_by_itself(tmp_path: Path) -> None:
    write(tmp_path, {"id_rsa": "key", "x.py": "-----BEGIN PRIVATE KEY-----"})
    for name in ("id_rsa", "x.py"):
        with pytest.raises(InvalidBundle, match="so it is not sent"):
            bundle.pack(tmp_path / name)


def test_what_arrives_at_the_platform_anyway_is_named_there(tmp_path: Path) -> None:
    write(tmp_path, {"circle.py": "", "ca.pem": "", "b.txt": "-----BEGIN RSA PRIVATE KEY-----"})
    (tmp_path / bundle.IGNORE_FILE).write_text("!ca.pem\n!b.txt\n")
    warned = {file.path: file.warning for file in bundle.inspect(bundle.pack(tmp_path).data).files if file.warning}
    assert warned == {"ca.pem": "a credential, by its name", "b.txt": "a file with a private key in it (line 1)"}


@pytest.mark.more
def test_a_hostile_text_is_searched_in_time() -> None:
    from gradstream.bundle.credentials import credential_in
    from gradstream.bundle.rules import SCANNED

    for text in (
        "\n",
        " ",
        "machine ",
        "-----BEGIN ",
        "\n \n",
        '"auths"',
        "aws_a_",
        "xox",
        "eyJ",
        "eyJaaaaaaaaaaaaa",
        "a://b:c",
        "A_KEY=1",
        "token='a1",
        "a_password: ",
        "password: a1 ",
        "a:5432:b",
        "A_PASSWORD=",
        "[a]\n",
        "[a]\nb\n",
        "[a]\npassword = ",
        "token = a1",
        "curl -u a:$",
        "curl ",
        "Authorization: Bearer ",
        "PrivateKey = a",
        ":$6$a",
        "SG.a",
        "123456789:AA",
        "\0 ",
    ):
        assert credential_in("a.txt", SCANNED, (text * SCANNED)[:SCANNED].encode()) is None
