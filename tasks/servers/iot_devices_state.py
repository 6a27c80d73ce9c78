"""What the iot_devices server's tools share: rows by identifier, what may be set, scenes taking effect, rows shown.

Run: nothing here runs by itself; `tasks.servers.iot_devices` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace

from tasks.servers import iot_devices_rows as r
from tasks.servers import iot_devices_types as t
from tasks.servers.lookup import existing
from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.typed import time_of


class Homes:
    """The tables of the homes, and the steps that tools are made of."""

    now: dt.datetime
    homes: Table[r.Home]
    zones: Table[r.Zone]
    devices: Table[r.Device]
    groups: Table[r.Group]
    scenes: Table[r.Scene]
    automations: Table[r.Automation]
    codes: Table[r.Code]
    meters: Table[r.Meter]
    firmware: Table[r.Latest]

    # -- rows by identifier ----------------------------------------------------------------------

    def _home(self, home_id: str) -> r.Home:
        return existing(self.homes, home_id, "home", "list_homes")

    def _own_home(self, home_id: str, what: str) -> r.Home:
        """The home, when it is the user's own."""
        home = self._home(home_id)
        if home.role != "owner":
            raise ToolError("denied", f"the user is a guest in this home and may not {what}", "Ask its owner.")
        return home

    def _zone(self, zone_id: str) -> r.Zone:
        return existing(self.zones, zone_id, "zone", "list_zones")

    def _device(self, device_id: str, kind: t.Kind | None = None) -> r.Device:
        """The device, when it is of that kind (any, when none is given)."""
        row = existing(self.devices, device_id, "device", "list_devices")
        if kind and row.kind != kind:
            raise ToolError("invalid_value", f"{device_id} is a {row.kind}, not a {kind}", f"Use search_devices for a {kind}.")
        return row

    def _home_of(self, device: r.Device) -> r.Home:
        return self.homes[self.zones[device.zone_id].home_id]

    def _in_home(self, home_id: str) -> list[r.Device]:
        return self.devices.where(lambda row: self.zones[row.zone_id].home_id == home_id)

    def _scene(self, scene_id: str) -> r.Scene:
        return existing(self.scenes, scene_id, "scene", "list_scenes")

    def _automation(self, automation_id: str) -> r.Automation:
        return existing(self.automations, automation_id, "automation", "list_automations")

    # -- settings --------------------------------------------------------------------------------

    def _checked(self, device: r.Device, setting: t.Setting, value: int) -> None:
        """Raises ToolError unless a device of this kind has the setting and the value is in its range."""
        limits = r.CAPABILITIES[device.kind].get(setting)
        if limits is None:
            what = f"{device.device_id} is a {device.kind} and has no {setting}"
            raise ToolError("invalid_value", what, "list_device_settings shows what it has.")
        if not limits[0] <= value <= limits[1]:
            what = f"{setting} of {device.device_id} goes from {limits[0]} to {limits[1]}"
            raise ToolError("invalid_value", what, "Give a value in this range.")

    def _why_not(self, device: r.Device, setting: t.Setting, value: int) -> ToolError | None:
        """Why the device does not take the value now."""
        home = self._home_of(device)
        if not device.online:
            return ToolError("wrong_state", f"{device.device_id} is offline: {device.status}", "Use restart_device first.")
        if setting == "volume" and home.presence == "night" and value > r.QUIET:
            return ToolError("denied", f"at night the volume is {r.QUIET} at most", "Choose a lower volume.")
        if setting == "recording" and value and home.presence == "home":
            return ToolError("denied", "cameras do not record while people are home", "Use set_home_presence first.")
        if setting == "recording" and value and not device.value("power"):
            return ToolError("wrong_state", "the camera is switched off", "Use switch_device first.")
        if setting == "cleaning" and value > device.value("cleaning") and device.battery <= r.PER_ZONE:
            return ToolError("insufficient", f"the battery is at {device.battery}%", "Use dock_vacuum to charge it.")
        if setting == "minutes" and value and self._wet(home.home_id):
            return ToolError("wrong_state", "the ground is wet", "read_sensor shows the moisture.")
        return None

    def _wet(self, home_id: str) -> bool:
        return any(row.senses == "moisture" and row.online and row.reading > r.WET for row in self._in_home(home_id))

    def _set(self, device: r.Device, setting: t.Setting, value: int, **more: int) -> r.Device:
        """Sets a value, and others that follow from it. Raises ToolError when the device does not take it."""
        self._checked(device, setting, value)
        reason = self._why_not(device, setting, value)
        if reason:
            raise reason
        return self._take(device, setting, value, **more)

    def _take(self, device: r.Device, setting: t.Setting, value: int, **more: int) -> r.Device:
        """Sets a value that the device takes: a camera that goes off stops recording, and cleaning costs battery."""
        if device.kind == "camera" and (setting, value) == ("power", 0):
            more["recording"] = 0
        if setting == "cleaning" and value > device.value("cleaning"):
            device = replace(device, battery=device.battery - r.PER_ZONE)
        return self.devices.put(device.device_id, device.changed(**{setting: value, **more}))

    def _powered(self, device: r.Device) -> r.Device:
        if not device.value("power"):
            raise ToolError("wrong_state", f"{device.device_id} is switched off", "Use switch_device first.")
        return device

    def _apply(self, settings: Iterable[tuple[str, t.Setting, int]]) -> tuple[int, int]:
        """Sets what can be set now. How many settings took effect, and how many did not."""
        changed = skipped = 0
        for device_id, setting, value in settings:
            device = self.devices[device_id]
            if self._why_not(device, setting, value):
                skipped += 1
                continue
            self._take(device, setting, value)
            changed += 1
        return changed, skipped

    def _users(self, device_id: str) -> str:
        """What depends on a device, in words; empty: nothing."""
        if any(device_id in row.devices for row in self.groups.values()):
            return "a group"
        if any(device_id == key for row in self.scenes.values() for key, _, _ in row.settings):
            return "a scene"
        if any(device_id == row.sensor_id for row in self.automations.values()):
            return "an automation"
        return "an access code" if any(device_id == c.device_id and not c.revoked for c in self.codes.values()) else ""

    # -- automations and codes -------------------------------------------------------------------

    def _trigger(self, home_id: str, trigger: t.Trigger) -> tuple[str, str, str, int]:
        """(at, presence, sensor_id, above) of a trigger. Raises ToolError when what its kind needs is missing."""
        kind = trigger["kind"]
        needed = {"time": {"at"}, "presence": {"presence"}, "sensor": {"sensor_id", "above"}}[kind]
        given = set(trigger) - {"kind"}
        if given != needed:
            raise ToolError("invalid_value", f"a {kind} trigger takes {' and '.join(sorted(needed))}", "Give just that.")
        if kind == "time":
            return time_of(trigger["at"]).strftime("%H:%M"), "", "", 0
        if kind == "presence":
            return "", trigger["presence"], "", 0
        sensor = self._device(trigger["sensor_id"], "sensor")
        if self.zones[sensor.zone_id].home_id != home_id:
            raise ToolError("invalid_value", "the sensor is in another home", "Choose a sensor of the scene's home.")
        return "", "", sensor.device_id, int(trigger["above"])

    def _today(self) -> str:
        return self.now.date().isoformat()

    def _code(self, access_code_id: str) -> r.Code:
        return existing(self.codes, access_code_id, "access code", "list_access_codes")

    def _valid_codes(self, device_id: str) -> int:
        return len(self.codes.where(lambda c: c.device_id == device_id and c.status(self._today()) in ("valid", "not_yet")))

    # -- energy ----------------------------------------------------------------------------------

    def _used(self, device_id: str, days: int) -> int:
        """Wh of a device over the last days; 0 for what runs on battery."""
        meter = self.meters.get(device_id)
        return sum(meter.daily[:days]) if meter else 0

    def _energy_shown(self, row: r.Device, days: int) -> t.DeviceEnergy:
        wh = self._used(row.device_id, days)
        cost = round(wh * self._home_of(row).tariff / 100_000, 2)
        return {"device_id": row.device_id, "kwh": round(wh / 1000, 2), "cost": cost}

    # -- how rows are shown ----------------------------------------------------------------------

    def _zone_shown(self, row: r.Zone) -> t.ZoneShown:
        count = len(self.devices.where(lambda d: d.zone_id == row.zone_id))
        return {"zone_id": row.zone_id, "name": row.name, "home_id": row.home_id, "devices": count}

    def _code_shown(self, row: r.Code) -> t.CodeShown:
        return {
            "access_code_id": row.access_code_id,
            "guest": row.name,
            "device_id": row.device_id,
            "until": row.last,
            "status": row.status(self._today()),
        }


def home_shown(row: r.Home) -> t.HomeShown:
    return {"home_id": row.home_id, "name": row.name, "city": row.city, "presence": row.presence, "role": row.role}


def device_row(row: r.Device) -> t.DeviceRow:
    return {"device_id": row.device_id, "name": row.name, "kind": row.kind, "online": row.online}


def group_shown(row: r.Group) -> t.GroupShown:
    return {"group_id": row.group_id, "name": row.name, "devices": len(row.devices)}


def scene_shown(row: r.Scene) -> t.SceneShown:
    return {"scene_id": row.scene_id, "name": row.name, "home_id": row.home_id, "settings": len(row.settings)}


def automation_row(row: r.Automation) -> t.AutomationRow:
    return {"automation_id": row.automation_id, "name": row.name, "trigger": row.trigger, "enabled": row.enabled}


def vacuum_shown(row: r.Device) -> t.VacuumSet:
    return {"device_id": row.device_id, "cleaning": bool(row.value("cleaning")), "battery": row.battery}
