"""The iot_devices server: its mechanics and its refusals. Random calls are in test_iot_devices_random."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from tasks.servers.iot_devices import IotDevices
from tasks.servers.session import Session
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import world


@pytest.fixture
def session() -> Iterator[Session]:
    with world(IotDevices).session(7) as opened:
        ok(opened, "list_homes")
        yield opened


def home(session: Session, role: str = "owner") -> str:
    return next(str(h["home_id"]) for h in ok(session, "list_homes") if h["role"] == role)


def device(session: Session, kind: str, role: str = "owner") -> str:
    """A device of that kind, brought online."""
    rows = ok(session, "search_devices", filter={"home_id": home(session, role), "kind": kind}, limit=50)
    key = str(rows[0]["device_id"])
    if ok(session, "get_device", device_id=key).get("battery") == 0:
        ok(session, "replace_battery", device_id=key)
    ok(session, "restart_device", device_id=key)
    return key


def value(session: Session, device_id: str, setting: str) -> Any:
    rows = ok(session, "list_device_settings", device_id=device_id)
    return next(row["value"] for row in rows if row["setting"] == setting)


def offline(session: Session, device_id: str) -> None:
    """Takes a device off the Wi-Fi, as no tool can."""
    state_of(session, IotDevices).devices.update(device_id, fault="no_wifi")


def test_the_definition() -> None:
    check_server(IotDevices, tools=25)
    check_seeding(IotDevices)


def test_homes_zones_and_devices_lead_to_each_other(session: Session) -> None:
    counted = 0
    for row in ok(session, "list_homes"):
        assert ok(session, "find_home", name=row["name"].upper()) == row
        for zone in ok(session, "list_zones", home_id=row["home_id"]):
            found = ok(session, "list_devices", zone_id=zone["zone_id"], limit=50)
            assert len(found) == zone["devices"]
            counted += len(found)
            for each in found:
                shown = ok(session, "find_device", name=each["name"].lower())
                assert shown == {"device_id": each["device_id"], "kind": each["kind"], "zone_id": zone["zone_id"]}
    assert counted == 35
    on = ok(session, "search_devices", filter={"on": True, "online": True, "kind": "lamp"}, limit=50)
    assert all(value(session, row["device_id"], "power") == 1 for row in on)


def test_capabilities_gate_actions(session: Session) -> None:
    lamp, plug = device(session, "lamp"), device(session, "plug")
    assert "not a lamp" in refused(session, "invalid_value", "set_lamp", device_id=plug, brightness=10)
    blind = device(session, "blind")
    assert "has no power" in refused(session, "invalid_value", "switch_device", device_id=blind, on=True)
    refused(session, "invalid_arguments", "set_lamp", device_id=lamp, brightness=101)
    ok(session, "switch_device", device_id=lamp, on=False)
    assert ok(session, "set_lamp", device_id=lamp, brightness=35, warmth=3000)["warmth"] == 3000
    assert (value(session, lamp, "power"), value(session, lamp, "brightness")) == (1, 35)
    assert ok(session, "set_lamp", device_id=lamp, brightness=40.0)["warmth"] == 3000
    assert ok(session, "set_blind", device_id=blind, position=75) == {"device_id": blind, "position": 75}


def test_offline_devices_take_nothing(session: Session) -> None:
    lamp = device(session, "lamp")
    offline(session, lamp)
    assert "no_wifi" in refused(session, "wrong_state", "set_lamp", device_id=lamp, brightness=10)
    refused(session, "wrong_state", "switch_device", device_id=lamp, on=True)
    assert ok(session, "restart_device", device_id=lamp)["online"]
    ok(session, "set_lamp", device_id=lamp, brightness=10)
    blind = device(session, "blind")
    state_of(session, IotDevices).devices.update(blind, battery=0)
    refused(session, "wrong_state", "restart_device", device_id=blind)
    assert ok(session, "replace_battery", device_id=blind)["online"]
    refused(session, "conflict", "replace_battery", device_id=blind)
    refused(session, "invalid_value", "replace_battery", device_id=lamp)


def test_switched_off_devices_are_switched_on_first(session: Session) -> None:
    thermostat, speaker = device(session, "thermostat"), device(session, "speaker")
    ok(session, "switch_device", device_id=thermostat, on=False)
    refused(session, "wrong_state", "set_thermostat", device_id=thermostat, temperature=21)
    ok(session, "switch_device", device_id=thermostat, on=True)
    assert ok(session, "set_thermostat", device_id=thermostat, temperature=21)["temperature"] == 21
    ok(session, "switch_device", device_id=speaker, on=False)
    refused(session, "wrong_state", "set_speaker_volume", device_id=speaker, volume=10)


def test_presence_gates_cameras_speakers_and_locks(session: Session) -> None:
    key, camera, speaker, lock = home(session), *(device(session, kind) for kind in ("camera", "speaker", "smart_lock"))
    for row in ok(session, "list_automations", home_id=key, limit=50):
        ok(session, "enable_automation", automation_id=row["automation_id"], enabled=False)
    ok(session, "set_home_presence", home_id=key, presence="away")
    for each in (camera, speaker):
        ok(session, "switch_device", device_id=each, on=True)
    assert ok(session, "record_camera", device_id=camera, on=True)["recording"]
    refused(session, "denied", "unlock_smart_lock", device_id=lock)
    ok(session, "set_speaker_volume", device_id=speaker, volume=90)
    ok(session, "set_home_presence", home_id=key, presence="night")
    assert value(session, speaker, "volume") == 30 and value(session, camera, "recording") == 1
    refused(session, "denied", "set_speaker_volume", device_id=speaker, volume=31)
    ok(session, "set_home_presence", home_id=key, presence="home")
    assert value(session, camera, "recording") == 0
    refused(session, "denied", "record_camera", device_id=camera, on=True)
    assert ok(session, "unlock_smart_lock", device_id=lock) == {"device_id": lock, "locked": False}
    ok(session, "set_home_presence", home_id=key, presence="away")
    ok(session, "record_camera", device_id=camera, on=True)
    ok(session, "switch_device", device_id=camera, on=False)
    assert value(session, camera, "recording") == 0
    refused(session, "wrong_state", "turn_camera", device_id=camera, angle=90)


def test_a_guest_uses_devices_and_changes_nothing_for_good(session: Session) -> None:
    other, lamp, lock = home(session, "guest"), device(session, "lamp", "guest"), device(session, "smart_lock", "guest")
    zone = ok(session, "list_zones", home_id=other)[0]["zone_id"]
    ok(session, "set_lamp", device_id=lamp, brightness=50)
    refused(session, "denied", "set_home_presence", home_id=other, presence="away")
    refused(session, "denied", "unlock_smart_lock", device_id=lock)
    refused(session, "denied", "create_zone", home_id=other, name="Cave")
    refused(session, "denied", "pair_device", zone_id=zone, name="New Lamp", kind="lamp")
    refused(session, "denied", "rename_device", device_id=lamp, name="Mine")
    refused(session, "denied", "remove_device", device_id=lamp)
    refused(session, "denied", "create_access_code", device_id=lock, guest="Robin Vale", days=1)


def test_devices_come_move_and_go(session: Session) -> None:
    key = home(session)
    zone = ok(session, "create_zone", home_id=key, name="Cave")["zone_id"]
    refused(session, "conflict", "create_zone", home_id=key, name="cave")
    made = ok(session, "pair_device", zone_id=zone, name="Cave Lamp", kind="lamp")["device_id"]
    assert value(session, made, "power") == 0
    assert ok(session, "get_device_energy", device_id=made)["kwh"] == 0
    ok(session, "rename_device", device_id=made, name="CAVE lamp")
    refused(session, "conflict", "pair_device", zone_id=zone, name="Cave Lamp", kind="lamp")
    elsewhere = ok(session, "list_zones", home_id=home(session, "guest"))[0]["zone_id"]
    refused(session, "denied", "move_device", device_id=made, zone_id=elsewhere)
    group = ok(session, "create_device_group", name="Cave Group", device_ids=[made, made])
    assert group["devices"] == 1
    assert "group" in refused(session, "conflict", "remove_device", device_id=made)
    ok(session, "delete_device_group", group_id=group["group_id"])
    assert ok(session, "remove_device", device_id=made)["removed"]
    refused(session, "not_found", "get_device", device_id=made)


def test_groups_switch_together_and_skip_what_is_offline(session: Session) -> None:
    lamp, plug = device(session, "lamp"), device(session, "plug")
    refused(session, "invalid_value", "create_device_group", name="Odd", device_ids=[lamp, device(session, "blind")])
    group = ok(session, "create_device_group", name="Pair", device_ids=[lamp, plug])["group_id"]
    offline(session, plug)
    assert ok(session, "switch_device_group", group_id=group, on=True) == {"group_id": group, "switched": 1, "skipped": 1}
    assert value(session, lamp, "power") == 1
    assert {row["device_id"] for row in ok(session, "list_group_devices", group_id=group)} == {lamp, plug}


def test_scenes_are_checked_when_made_and_set_what_they_can(session: Session) -> None:
    key, lamp, blind = home(session), device(session, "lamp"), device(session, "blind")
    dim = {"device_id": lamp, "setting": "brightness", "value": 15}
    shut = {"device_id": blind, "setting": "position", "value": 0}
    refused(session, "invalid_value", "create_scene", home_id=key, name="Odd", settings=[{**dim, "setting": "volume"}])
    refused(session, "invalid_value", "create_scene", home_id=key, name="Odd", settings=[{**dim, "value": 0}])
    refused(session, "invalid_value", "create_scene", home_id=key, name="Odd", settings=[dim, dim])
    other = {**dim, "device_id": device(session, "lamp", "guest")}
    refused(session, "invalid_value", "create_scene", home_id=key, name="Odd", settings=[dim, other])
    scene = ok(session, "create_scene", home_id=key, name="Movie Night", settings=[dim, shut])["scene_id"]
    refused(session, "conflict", "create_scene", home_id=key, name="movie night", settings=[dim])
    offline(session, blind)
    assert ok(session, "run_scene", scene_id=scene) == {"scene_id": scene, "changed": 1, "skipped": 1}
    assert value(session, lamp, "brightness") == 15
    assert "scene" in refused(session, "conflict", "remove_device", device_id=lamp)
    assert {row["device_id"] for row in ok(session, "list_scene_settings", scene_id=scene)} == {lamp, blind}
    assert ok(session, "find_scene", name="MOVIE NIGHT")["settings"] == 2
    ok(session, "delete_scene", scene_id=scene)


def test_automations_run_scenes(session: Session) -> None:
    key, lamp = home(session), device(session, "lamp")
    for row in ok(session, "list_automations", home_id=key, limit=50):
        ok(session, "enable_automation", automation_id=row["automation_id"], enabled=False)
    ok(session, "set_home_presence", home_id=key, presence="home")
    settings = [{"device_id": lamp, "setting": "brightness", "value": 7}]
    scene = ok(session, "create_scene", home_id=key, name="Glow", settings=settings)["scene_id"]
    wrong = {"kind": "time", "presence": "away"}
    refused(session, "invalid_value", "create_automation", name="Rule", scene_id=scene, trigger=wrong)
    made = ok(session, "create_automation", name="Rule", scene_id=scene, trigger={"kind": "presence", "presence": "away"})
    automation = made["automation_id"]
    refused(session, "wrong_state", "run_automation", automation_id=automation)
    assert ok(session, "set_home_presence", home_id=key, presence="away")["automations_run"] == 1
    assert value(session, lamp, "brightness") == 7
    assert ok(session, "set_home_presence", home_id=key, presence="away")["automations_run"] == 0
    assert ok(session, "get_automation", automation_id=automation)["when"] == "away"
    ok(session, "enable_automation", automation_id=automation, enabled=False)
    refused(session, "wrong_state", "run_automation", automation_id=automation)
    assert "automation" in refused(session, "conflict", "delete_scene", scene_id=scene).replace("autom_", "automation")
    ok(session, "delete_automation", automation_id=automation)
    ok(session, "delete_scene", scene_id=scene)


def test_sensors_and_clocks_trigger(session: Session) -> None:
    key, sensor, lamp = home(session), device(session, "sensor"), device(session, "lamp")
    reading = ok(session, "read_sensor", device_id=sensor)["value"]
    settings = [{"device_id": lamp, "setting": "power", "value": 1}]
    scene = ok(session, "create_scene", home_id=key, name="Glow", settings=settings)["scene_id"]
    high = {"kind": "sensor", "sensor_id": sensor, "above": reading}
    rule = ok(session, "create_automation", name="High", scene_id=scene, trigger=high)["automation_id"]
    refused(session, "wrong_state", "run_automation", automation_id=rule)
    if reading:
        low = {**high, "above": reading - 1}
        rule = ok(session, "create_automation", name="Low", scene_id=scene, trigger=low)["automation_id"]
        assert ok(session, "run_automation", automation_id=rule)["changed"] == 1
    other = {**high, "sensor_id": device(session, "sensor", "guest")}
    refused(session, "invalid_value", "create_automation", name="Far", scene_id=scene, trigger=other)
    offline(session, sensor)
    refused(session, "wrong_state", "read_sensor", device_id=sensor)
    soon = (session.now + dt.timedelta(minutes=1)).strftime("%H:%M")
    timed = ok(session, "create_automation", name="Soon", scene_id=scene, trigger={"kind": "time", "at": soon})
    assert ok(session, "next_automation", home_id=key)["automation_id"] == timed["automation_id"]


def test_vacuums_and_sprinklers(session: Session) -> None:
    key, vacuum, sprinkler = home(session), device(session, "vacuum"), device(session, "sprinkler")
    zones = [z["zone_id"] for z in ok(session, "list_zones", home_id=key)]
    ok(session, "dock_vacuum", device_id=vacuum)
    assert ok(session, "start_vacuum", device_id=vacuum, zone_ids=zones[:2] + zones[:1])["battery"] == 70
    refused(session, "wrong_state", "start_vacuum", device_id=vacuum, zone_ids=zones)
    refused(session, "not_found", "start_vacuum", device_id=vacuum, zone_ids=["zone_000"])
    state_of(session, IotDevices).devices.update(vacuum, battery=30)
    refused(session, "wrong_state", "start_vacuum", device_id=vacuum, zone_ids=zones[:1])
    assert ok(session, "dock_vacuum", device_id=vacuum) == {"device_id": vacuum, "cleaning": False, "battery": 100}
    state_of(session, IotDevices).devices.update(vacuum, battery=30)
    refused(session, "insufficient", "start_vacuum", device_id=vacuum, zone_ids=zones[:2])
    sensor = device(session, "sensor")
    state_of(session, IotDevices).devices.update(sensor, senses="moisture", reading=61)
    refused(session, "wrong_state", "run_sprinkler", device_id=sprinkler, minutes=5)
    assert ok(session, "run_sprinkler", device_id=sprinkler, minutes=0)["minutes"] == 0
    for row in ok(session, "search_devices", filter={"home_id": key, "kind": "sensor"}, limit=50):
        state_of(session, IotDevices).devices.update(row["device_id"], senses="humidity")
    assert ok(session, "run_sprinkler", device_id=sprinkler, minutes=5)["minutes"] == 5


def test_access_codes_open_a_lock_on_their_days(session: Session) -> None:
    lock, lamp, today = device(session, "smart_lock"), device(session, "lamp"), session.now.date()
    yesterday, soon = ((today + dt.timedelta(days=n)).isoformat() for n in (-1, 3))
    for first, days in ((yesterday, 5), (soon, 90), ("2026-02-31", 1)):
        refused(session, "invalid_value", "create_access_code", device_id=lock, guest="Robin Vale", first=first, days=days)
    refused(session, "invalid_value", "create_access_code", device_id=lamp, guest="Robin Vale", days=1)
    made = ok(session, "create_access_code", device_id=lock, guest="Robin Vale", days=4)
    assert made["status"] == "valid"
    assert ok(session, "find_access_code", guest="robin vale") == {
        "access_code_id": made["access_code_id"],
        "guest": "Robin Vale",
        "device_id": lock,
        "until": soon,
        "status": "valid",
    }
    code = made["access_code_id"]
    refused(session, "conflict", "create_access_code", device_id=lock, guest="Robin Vale", days=1)
    ok(session, "lock_smart_lock", device_id=lock)
    assert ok(session, "open_with_access_code", access_code_id=code)["uses"] == 1
    assert value(session, lock, "locked") == 0
    later = ok(session, "create_access_code", device_id=lock, guest="Kim Vale", first=soon, days=1)
    assert later["status"] == "not_yet"
    refused(session, "denied", "open_with_access_code", access_code_id=later["access_code_id"])
    assert ok(session, "revoke_access_code", access_code_id=code)["status"] == "revoked"
    refused(session, "denied", "open_with_access_code", access_code_id=code)
    refused(session, "wrong_state", "revoke_access_code", access_code_id=code)
    for number in range(10):
        arguments = {"device_id": lock, "guest": f"Guest {number}", "days": 2}
        result = session.call("create_access_code", arguments)
        if not result.ok:
            break
    assert result.error is not None and result.error.kind == "insufficient"


def test_energy_adds_up(session: Session) -> None:
    key = home(session)
    top = ok(session, "top_energy_devices", home_id=key, limit=50)
    assert [row["kwh"] for row in top] == sorted((row["kwh"] for row in top), reverse=True)
    assert ok(session, "get_device_energy", device_id=top[0]["device_id"]) == top[0]
    one_day = ok(session, "get_device_energy", device_id=top[0]["device_id"], days=1)
    assert 0 < one_day["kwh"] < top[0]["kwh"]
    total = sum(ok(session, "get_zone_energy", zone_id=z["zone_id"])["kwh"] for z in ok(session, "list_zones", home_id=key))
    assert total == pytest.approx(sum(row["kwh"] for row in top), abs=0.1)
    refused(session, "invalid_value", "get_device_energy", device_id=device(session, "blind"))


def test_firmware(session: Session) -> None:
    waiting = ok(session, "list_firmware_updates", home_id=home(session), limit=50)
    row = next(row for row in waiting if "battery" not in ok(session, "get_device", device_id=row["device_id"]))
    offline(session, row["device_id"])
    refused(session, "wrong_state", "install_firmware", device_id=row["device_id"])
    ok(session, "restart_device", device_id=row["device_id"])
    assert ok(session, "install_firmware", device_id=row["device_id"])["version"] == row["latest"]
    refused(session, "conflict", "install_firmware", device_id=row["device_id"])
    assert len(ok(session, "list_firmware_updates", home_id=home(session), limit=50)) == len(waiting) - 1
