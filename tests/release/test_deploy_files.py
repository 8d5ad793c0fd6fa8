"""The files to run Dragoman with are whole: image, compose, nginx, systemd and Kubernetes agree with the gateway."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from dragoman.config.errors import InvalidConfig
from dragoman.config.load import load
from dragoman.config.schema.config_file import Config
from dragoman.gateway.config_names import collect_names
from dragoman.gateway.routes import ROUTES, Access

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PORT = Config().server.port
SECRETS = {
    "ANTHROPIC_API_KEY": "k",
    "DRAGOMAN_KEY_SHA256": "a" * 64,
    "DRAGOMAN_METRICS_KEY_SHA256": "b" * 64,
    "DRAGOMAN_POSTGRES_URL": "postgresql://dragoman@postgresql/dragoman",
    "DRAGOMAN_REDIS_URL": "redis://redis:6379/0",
    "POSTGRES_PASSWORD": "p",
}
OPEN = {route.path for route in ROUTES if route.access is Access.OPEN}
LOCAL = {"127.0.0.1", "localhost", "::1"}


def loaded(path: Path, **environment: str) -> Config:
    return load(path, known=collect_names(), process=environment).config


def needs(program: str) -> Any:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


# The image


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def final_stage() -> list[tuple[str, str]]:
    every = instructions()
    start = max(index for index, (word, _) in enumerate(every) if word == "FROM")
    return every[start:]


def test_the_image_is_built_in_stages_from_pinned_bases() -> None:
    security = (ROOT / "SECURITY.md").read_text()
    given = dict(rest.split("=", 1) for word, rest in instructions() if word == "ARG")
    bases = [rest.split()[0] for word, rest in instructions() if word == "FROM"]
    assert bases == ["${BASE}", "${BASE}"]
    assert re.search(r":\d+\.\d+-slim", given["BASE"]), given
    assert f"--build-arg BASE=$(docker inspect --format '{{{{index .RepoDigests 0}}}}' {given['BASE']})" in security
    run = " ".join(rest for word, rest in instructions() if word == "RUN")
    assert "--require-hashes -r requirements.lock" in run
    assert run.count("pip install") + run.count("pip wheel") == run.count("--no-cache-dir")
    assert "ADD" not in [word for word, _ in instructions()]


def test_the_image_runs_as_nobody_special() -> None:
    stage = final_stage()
    [user] = [rest for word, rest in stage if word == "USER"]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user), "a number, so that Kubernetes sees that it is not root"
    after = [word for word, _ in stage[[word for word, _ in stage].index("USER") :]]
    assert "RUN" not in after
    assert not [rest for word, rest in stage if word == "ENV" and re.search("KEY|SECRET|TOKEN|PASSWORD", rest)]


def test_the_image_starts_and_checks_the_gateway() -> None:
    stage = dict(final_stage())
    assert stage["EXPOSE"] == str(PORT)
    assert msgspec.json.decode(stage["ENTRYPOINT"]) == ["dragoman"]
    command = msgspec.json.decode(stage["CMD"])
    copied = dict(rest.split() for word, rest in final_stage() if word == "COPY" and "--from" not in rest)
    assert copied["deploy/image.yaml"] == command[-1]
    probe = msgspec.json.decode(stage["HEALTHCHECK"].partition("CMD ")[2])
    asked = re.search(rf"http://127\.0\.0\.1:{PORT}(/\w+)", probe[-1])
    assert asked is not None
    assert asked[1] in OPEN
    compile(probe[-1], "healthcheck", "exec")


def test_all_that_the_image_copies_is_sent_to_its_build() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    copied = [rest.split()[:-1] for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    for name in (name for names in copied for name in names):
        assert name in allowed, name
        assert (ROOT / name).exists(), name


def test_a_container_without_a_client_key_does_not_start() -> None:
    with pytest.raises(InvalidConfig, match="DRAGOMAN_KEY_SHA256"):
        loaded(DEPLOY / "image.yaml", ANTHROPIC_API_KEY="k")
    assert loaded(DEPLOY / "image.yaml", **SECRETS).keys


# compose.yaml


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return found


def test_compose_names_only_what_exists(compose: dict[str, Any]) -> None:
    services, volumes = compose["services"], compose["volumes"]
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services), name
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            assert (ROOT / source).is_file() if source.startswith(".") else source in volumes, (name, source)
        if "build" not in service:
            assert re.search(r":\d", service["image"]), f"{name}: a version of the image"
            assert service["healthcheck"]["test"][0] == "CMD"


def test_compose_publishes_on_this_machine_only(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_compose_gateways_have_no_privileges(compose: dict[str, Any]) -> None:
    gateways = [service for service in compose["services"].values() if "build" in service]
    assert len(gateways) == 3
    for service in gateways:
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert seconds(service["stop_grace_period"]) > Config().server.shutdown_grace


def test_compose_runs_one_gateway_unless_replicas_are_asked_for(compose: dict[str, Any]) -> None:
    assert [name for name, service in compose["services"].items() if "profiles" not in service] == ["gateway"]
    together = {name for name, service in compose["services"].items() if service.get("profiles") == ["replicas"]}
    assert together == {"gateway-1", "gateway-2", "nginx", "redis", "postgresql"}


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


# Configurations


@pytest.mark.parametrize("name", ["image.yaml", "compose-gateway.yaml", "compose-replicas.yaml", "systemd.yaml"])
def test_configurations_are_valid_and_reachable(name: str) -> None:
    config = loaded(DEPLOY / name, **SECRETS)
    assert config.providers
    assert config.server.port == PORT
    public = config.server.host not in LOCAL
    assert not public or config.keys or config.server.allow_public_without_keys


# nginx


def test_nginx_knows_the_replicas_and_streams(compose: dict[str, Any]) -> None:
    text = (DEPLOY / "nginx.conf").read_text()
    assert re.findall(rf"server (\S+):{PORT}", text) == [
        name for name in compose["services"] if name.startswith("gateway-")
    ]
    assert "proxy_buffering off;" in text
    assert 'proxy_set_header Connection "";' in text
    assert re.search(r"client_max_body_size (\d+)m", text)[1] == str(Config().server.max_body // 2**20)  # type: ignore[index]


@needs("nginx")
def test_nginx_takes_its_file(tmp_path: Path) -> None:
    text = (DEPLOY / "nginx.conf").read_text().replace("gateway-1", "127.0.0.1").replace("gateway-2", "127.0.0.2")
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid; error_log stderr;\n{text}")
    command = ["nginx", "-t", "-q", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# systemd


def unit() -> Iterator[tuple[str, str]]:
    for line in (DEPLOY / "dragoman.service").read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name, value


def test_the_unit_waits_for_running_requests_and_keeps_its_state() -> None:
    said = dict(unit())
    assert int(said["TimeoutStopSec"]) > Config().server.shutdown_grace
    state = f"/var/lib/{said['StateDirectory']}"
    config = loaded(DEPLOY / "systemd.yaml", **SECRETS)
    assert config.store.path == f"{state}/dragoman.sqlite3"
    assert "serve" in shlex.split(said["ExecStart"])


@needs("systemd-analyze")
def test_systemd_takes_the_unit_and_finds_it_closed(tmp_path: Path) -> None:
    text = (DEPLOY / "dragoman.service").read_text()
    program = shutil.which("true")
    assert program is not None
    copy = tmp_path / "dragoman.service"
    copy.write_text(re.sub(r"Documentation=.*\n", "", text).replace("/opt/dragoman/bin/dragoman", program))
    verified = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", copy],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout[-400:]


# Kubernetes


@pytest.fixture(scope="module")
def manifests() -> dict[str, dict[str, Any]]:
    folder = DEPLOY / "kubernetes"
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.yaml") if path.name != "kustomization.yaml")
    parsed = [yaml.safe_load((folder / name).read_text()) for name in listed]
    return {one["kind"]: one for one in parsed}


def test_manifests_are_of_current_versions(manifests: dict[str, dict[str, Any]]) -> None:
    assert {kind: one["apiVersion"] for kind, one in manifests.items()} == {
        "ConfigMap": "v1",
        "Deployment": "apps/v1",
        "Service": "v1",
        "HorizontalPodAutoscaler": "autoscaling/v2",
        "PodDisruptionBudget": "policy/v1",
    }


def test_manifests_find_each_other(manifests: dict[str, dict[str, Any]]) -> None:
    pod = manifests["Deployment"]["spec"]["template"]
    labels = pod["metadata"]["labels"].items()
    for selector in (
        manifests["Deployment"]["spec"]["selector"]["matchLabels"],
        manifests["Service"]["spec"]["selector"],
        manifests["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
    ):
        assert selector.items() <= labels
    [container] = pod["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports[manifests["Service"]["spec"]["ports"][0]["targetPort"]] == PORT
    scaled = manifests["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert (scaled["kind"], scaled["name"]) == ("Deployment", manifests["Deployment"]["metadata"]["name"])
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
    assert volumes["config"]["configMap"]["name"] == manifests["ConfigMap"]["metadata"]["name"]


def test_pods_are_probed_bounded_and_closed(manifests: dict[str, dict[str, Any]]) -> None:
    spec = manifests["Deployment"]["spec"]["template"]["spec"]
    [container] = spec["containers"]
    probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "readiness", "liveness")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": "/health",
        "readiness": "/ready",
        "liveness": "/health",
    }
    assert {probe["path"] for probe in probes.values()} <= OPEN
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not spec["automountServiceAccountToken"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["requests"]
    assert container["resources"]["limits"]["memory"]
    waited = int(container["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert spec["terminationGracePeriodSeconds"] > waited + Config().server.shutdown_grace


def test_the_user_of_the_pod_is_that_of_the_image(manifests: dict[str, dict[str, Any]]) -> None:
    [user] = [rest for word, rest in final_stage() if word == "USER"]
    context = manifests["Deployment"]["spec"]["template"]["spec"]["securityContext"]
    assert f"{context['runAsUser']}:{context['runAsGroup']}" == user


def test_the_configuration_of_the_pods_is_valid(manifests: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    [container] = manifests["Deployment"]["spec"]["template"]["spec"]["containers"]
    [(name, text)] = manifests["ConfigMap"]["data"].items()
    assert container["args"][2] == f"{container['volumeMounts'][0]['mountPath']}/{name}"
    (tmp_path / name).write_text(text)
    config = loaded(tmp_path / name, **SECRETS)
    assert set(config.keys) == {"client", "prometheus"}
    assert config.keys["prometheus"].allowed_endpoints == ("/metrics",)
    assert config.store.hot is not None
    assert config.store.ledger is not None


def test_the_workflow_runs_what_contributors_run() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text())
    runs = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert "make check" in runs
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    asked = [name for run in runs if run.startswith("make ") for name in run.split()[1:]]
    assert set(asked) <= targets
    assert workflow["permissions"] == {"contents": "read"}


def test_actions_are_pinned_by_their_commits() -> None:
    used = re.findall(r"uses: (\S+)", (ROOT / ".github" / "workflows" / "check.yml").read_text())
    assert used
    assert [one for one in used if re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one) is None] == []
