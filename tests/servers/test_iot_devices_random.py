"""The iot_devices server's seeds, and the homes under random calls: only capable devices are set, and only within range."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.servers.iot_devices import IotDevices
from tasks.servers.iot_devices_rows import CAPABILITIES, MAX_CODES, ON_BATTERY, QUIET
from tasks.servers.sampler import sample
from tasks.servers.session import Session
from tasks.servers.world import HELD_OUT_FROM
from tests.servers.driver import Driver, ok, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """What holds for the homes in every state."""
    server: Any = state_of(session, IotDevices)
    if server is None:
        return
    homes, zones, devices = server.homes, server.zones, server.devices
    assert all(zone.home_id in homes for zone in zones.values())
    for device in devices.values():
        home = homes[zones[device.zone_id].home_id]
        limits = CAPABILITIES[device.kind]
        assert [setting for setting, _ in device.values] == sorted(limits), "just the settings of its kind"
        assert all(limits[setting][0] <= value <= limits[setting][1] for setting, value in device.values)
        assert (device.battery >= 0) == (device.kind in ON_BATTERY) and device.battery <= 100
        assert (device.device_id in server.meters) == (device.battery < 0)
        assert device.firmware <= server.firmware[device.kind].version
        if device.kind == "camera" and device.value("recording"):
            assert device.value("power") and home.presence != "home"
        if device.kind == "speaker" and home.presence == "night":
            assert device.value("volume") <= QUIET
    assert all(key in devices for key in server.meters)
    for group in server.groups.values():
        assert group.devices and all("power" in dict(devices[key].values) for key in group.devices)
    for scene in server.scenes.values():
        assert scene.settings
        for key, setting, value in scene.settings:
            assert zones[devices[key].zone_id].home_id == scene.home_id
            low, high = CAPABILITIES[devices[key].kind][setting]
            assert low <= value <= high
    for row in server.automations.values():
        assert server.scenes[row.scene_id].home_id == row.home_id
        assert [bool(row.at), bool(row.presence), bool(row.sensor_id)] == [
            row.trigger == kind for kind in ("time", "presence", "sensor")
        ]
        if row.sensor_id:
            assert devices[row.sensor_id].kind == "sensor" and zones[devices[row.sensor_id].zone_id].home_id == row.home_id
    today = session.now.date().isoformat()
    for code in server.codes.values():
        assert devices[code.device_id].kind == "smart_lock" and code.first <= code.last
    for device in devices.values():
        valid = [
            c for c in server.codes.values() if c.device_id == device.device_id and c.status(today) in ("valid", "not_yet")
        ]
        assert len(valid) <= MAX_CODES
    for rows in (homes, zones, devices, server.groups, server.scenes, server.automations):
        names = [row.name.casefold() for row in rows.values()]
        assert len(names) == len(set(names))


TestIotDevices = machine(IotDevices, check)


@pytest.mark.parametrize("seed", [*range(12), *range(HELD_OUT_FROM, HELD_OUT_FROM + 6)])
def test_seeds_are_consistent(seed: int) -> None:
    with world(IotDevices).session(seed) as found:
        ok(found, "list_homes")
        check(found)
        assert len(state_of(found, IotDevices).devices) == 35


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_scenes_keep_the_invariants(seed: int) -> None:
    """Scenes with random settings, some of them impossible, that run in homes whose presence changes."""
    rng = random.Random(seed)
    with world(IotDevices).session(seed % 20) as session:
        driver = Driver(session, rng, sample(session))
        homes = [h["home_id"] for h in ok(session, "list_homes") if h["role"] == "owner"]
        for number in range(12):
            home = rng.choice(homes)
            devices = ok(session, "search_devices", filter={"home_id": home}, limit=50)
            chosen = [
                {
                    "device_id": device["device_id"],
                    "setting": (setting := rng.choice(list(CAPABILITIES[device["kind"]]) or ["power"])),
                    "value": rng.choice((*CAPABILITIES[device["kind"]].get(setting, (0, 1)), 1)),
                }
                for device in rng.sample(devices, 3)
            ]
            made = driver.call("create_scene", {"home_id": home, "name": f"Scene {number}", "settings": chosen})
            if made.ok:
                name, scene = f"Rule {number}", made.content["scene_id"]
                trigger = {"kind": "presence", "presence": rng.choice(("home", "away", "night"))}
                driver.call("create_automation", {"name": name, "scene_id": scene, "trigger": trigger})
                driver.call("run_scene", {"scene_id": scene})
            driver.call("set_home_presence", {"home_id": home, "presence": rng.choice(("home", "away", "night"))})
            check(session)
