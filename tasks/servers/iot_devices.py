"""Smart homes: zones, devices of ten kinds, groups, scenes, automations, access codes, energy and firmware.

    with environment(["iot_devices"]).session(7) as session:
        session.call("find_device", {"name": "Amber Lamp"})

What can be done with a device depends on its kind, on whether it is online, and on the home's presence (home, away,
night). In the home where the user is a guest, devices can be used but nothing can be changed for good.

Left out: time that passes. Sensors keep their readings, and automations run when a presence is set or by hand.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from tasks.servers import iot_devices_rows as r
from tasks.servers import iot_devices_types as t
from tasks.servers.iot_devices_data import seed_rows
from tasks.servers.iot_devices_state import (
    Homes,
    automation_row,
    device_row,
    group_shown,
    home_shown,
    scene_shown,
    vacuum_shown,
)
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Limit, date_of
from tasks.servers.world import World


class IotDevices(Homes, Server):
    """The server; see the module's docstring."""

    name = "iot_devices"
    title = "Smart homes: devices, scenes, automations and access codes"

    homes: Table[r.Home]
    zones: Table[r.Zone]
    devices: Table[r.Device]
    groups: Table[r.Group]
    scenes: Table[r.Scene]
    automations: Table[r.Automation]
    codes: Table[r.Code]
    meters: Table[r.Meter]
    firmware: Table[r.Latest]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- homes and zones -------------------------------------------------------------------------

    @tool(read_only=True)
    def list_homes(self, limit: Limit = 5) -> list[t.HomeShown]:
        """List the user's homes and those where the user is a guest."""
        return [home_shown(row) for row in list(self.homes.values())[: int(limit)]]

    @tool(read_only=True)
    def find_home(self, name: t.KnownName) -> t.HomeShown:
        """Find a home by its name."""
        return home_shown(named(self.homes.values(), name, "home", "list_homes"))

    @tool(idempotent=True)
    def set_home_presence(self, home_id: t.HomeId, presence: t.NewPresence) -> t.PresenceSet:
        """Set whether people are home, away or asleep; it runs the automations for it, and stops cameras or quiets speakers."""
        home = self._own_home(home_id, "set its presence")
        if home.presence == presence:
            return {"home_id": home_id, "presence": presence, "automations_run": 0}
        self.homes.update(home_id, presence=presence)
        for row in self._in_home(home_id):
            if presence == "home" and row.kind == "camera":
                self.devices.put(row.device_id, row.changed(recording=0))
            if presence == "night" and row.kind == "speaker":
                self.devices.put(row.device_id, row.changed(volume=min(row.value("volume"), r.QUIET)))
        rows = self.automations.where(lambda a: a.home_id == home_id and a.enabled and a.presence == presence)
        for automation in sorted(rows, key=lambda a: a.name):
            self._apply(self.scenes[automation.scene_id].settings)
        return {"home_id": home_id, "presence": presence, "automations_run": len(rows)}

    @tool(read_only=True)
    def list_zones(self, home_id: t.HomeId, limit: Limit = 5) -> list[t.ZoneShown]:
        """List the zones of a home."""
        self._home(home_id)
        return [self._zone_shown(row) for row in self.zones.where(lambda z: z.home_id == home_id)[: int(limit)]]

    @tool(read_only=True)
    def find_zone(self, name: t.KnownName) -> t.ZoneShown:
        """Find a zone by its name."""
        return self._zone_shown(named(self.zones.values(), name, "zone", "list_zones"))

    @tool()
    def create_zone(self, home_id: t.HomeId, name: t.NewName) -> t.ZoneShown:
        """Add a zone to a home of the user."""
        self._own_home(home_id, "add zones")
        name = unused(self.zones.values(), name, "zone")
        key = self.zones.fresh("zone", home_id, name)
        return self._zone_shown(self.zones.put(key, r.Zone(key, home_id, name)))

    # -- devices ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_devices(self, zone_id: t.ZoneId, kind: t.AnyKind = "any", limit: Limit = 5) -> list[t.DeviceRow]:
        """List the devices of a zone."""
        self._zone(zone_id)
        rows = self.devices.where(lambda d: d.zone_id == zone_id and kind in ("any", d.kind))
        return [device_row(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def search_devices(self, filter: t.DeviceFilter, limit: Limit = 5) -> list[t.DeviceRow]:
        """List the devices that satisfy all conditions of the filter, in all homes or one."""
        home, kind = filter.get("home_id"), filter.get("kind")
        if home is not None:
            self._home(home)
        rows = self.devices.where(
            lambda d: (
                home in (None, self.zones[d.zone_id].home_id)
                and kind in (None, d.kind)
                and filter.get("online") in (None, d.online)
                and filter.get("on") in (None, d.on)
            )
        )
        return [device_row(row) for row in sorted(rows, key=lambda d: d.name)[: int(limit)]]

    @tool(read_only=True)
    def find_device(self, name: t.KnownName) -> t.DeviceFound:
        """Find a device by its name: its kind and its zone."""
        row = named(self.devices.values(), name, "device", "search_devices")
        return {"device_id": row.device_id, "kind": row.kind, "zone_id": row.zone_id}

    @tool(read_only=True)
    def get_device(self, device_id: t.DeviceId) -> t.DeviceShown:
        """Show a device: kind, zone, status, and battery in percent if it has one."""
        row = self._device(device_id)
        shown: t.DeviceShown = {
            "device_id": row.device_id,
            "name": row.name,
            "kind": row.kind,
            "zone_id": row.zone_id,
            "status": row.status,
        }
        if row.battery >= 0:
            shown["battery"] = row.battery
        return shown

    @tool(read_only=True)
    def list_device_settings(self, device_id: t.DeviceId) -> list[t.SettingShown]:
        """List what can be set on a device, with its values now and their ranges."""
        row = self._device(device_id)
        limits = r.CAPABILITIES[row.kind]
        return [{"setting": s, "value": v, "lowest": limits[s][0], "highest": limits[s][1]} for s, v in row.values]

    @tool()
    def pair_device(self, zone_id: t.ZoneId, name: t.NewName, kind: t.NewKind) -> t.DeviceFound:
        """Add a new device to a zone; it starts with everything off."""
        self._own_home(self._zone(zone_id).home_id, "add devices")
        name = unused(self.devices.values(), name, "device")
        key, battery = self.devices.fresh("dvc", name), r.battery_of(kind)
        row = r.Device(key, zone_id, name, kind, "", battery, self.firmware[kind].version, r.lowest(kind))
        self.devices.put(key, row)
        if battery < 0:
            self.meters.put(key, r.Meter(key, (0,) * 7))
        return {"device_id": key, "kind": kind, "zone_id": zone_id}

    @tool(idempotent=True)
    def move_device(self, device_id: t.DeviceId, zone_id: t.ZoneId) -> t.DeviceMoved:
        """Move a device to another zone of the same home."""
        row, zone = self._device(device_id), self._zone(zone_id)
        self._own_home(zone.home_id, "move devices")
        if self.zones[row.zone_id].home_id != zone.home_id:
            raise ToolError("invalid_value", "the zone is in another home", "list_zones shows the zones of a home.")
        return {"device_id": device_id, "zone_id": self.devices.update(device_id, zone_id=zone_id).zone_id}

    @tool(idempotent=True)
    def rename_device(self, device_id: t.DeviceId, name: t.NewName) -> t.DeviceNamed:
        """Give a device another name."""
        self._own_home(self._home_of(self._device(device_id)).home_id, "rename devices")
        name = unused((d for d in self.devices.values() if d.device_id != device_id), name, "device")
        return {"device_id": device_id, "name": self.devices.update(device_id, name=name).name}

    @tool(idempotent=True)
    def restart_device(self, device_id: t.DeviceId) -> t.DeviceOnline:
        """Bring a device online that has no Wi-Fi or is unplugged; an empty battery needs replace_battery."""
        row = self._device(device_id)
        if row.battery == 0:
            raise ToolError("wrong_state", "its battery is empty", "Use replace_battery first.")
        return {"device_id": device_id, "online": self.devices.update(device_id, fault="").online}

    @tool()
    def replace_battery(self, device_id: t.DeviceId) -> t.DeviceOnline:
        """Put a full battery into a device whose battery is at 50 percent or less."""
        row = self._device(device_id)
        if row.battery < 0:
            raise ToolError("invalid_value", f"a {row.kind} has no battery", "get_device shows which devices have one.")
        if row.battery > 50:
            raise ToolError("conflict", f"the battery is at {row.battery}%", "Wait until it is at 50% or less.")
        return {"device_id": device_id, "online": self.devices.update(device_id, battery=100).online}

    @tool(destructive=True)
    def remove_device(self, device_id: t.DeviceId) -> t.DeviceGone:
        """Remove a device that is in no group, scene or automation and has no access code in force."""
        self._own_home(self._home_of(self._device(device_id)).home_id, "remove devices")
        users = self._users(device_id)
        if users:
            raise ToolError("conflict", f"{users} uses the device", "Delete that first.")
        self.devices.remove(device_id)
        for code in self.codes.where(lambda c: c.device_id == device_id):
            self.codes.remove(code.access_code_id)
        if device_id in self.meters:
            self.meters.remove(device_id)
        return {"device_id": device_id, "removed": True}

    # -- what each kind can do -------------------------------------------------------------------

    @tool(idempotent=True)
    def switch_device(self, device_id: t.DeviceId, on: t.On) -> t.PowerSet:
        """Switch a lamp, thermostat, camera, speaker or plug on or off."""
        return {"device_id": device_id, "on": self._set(self._device(device_id), "power", int(on)).on}

    @tool(idempotent=True)
    def set_lamp(self, device_id: t.DeviceId, brightness: t.Brightness, warmth: t.Warmth = None) -> t.LampSet:
        """Set a lamp's brightness, and its color temperature if given; it goes on."""
        row = self._device(device_id, "lamp")
        kelvin = row.value("warmth") if warmth is None else int(warmth)
        row = self._set(row, "brightness", int(brightness), warmth=kelvin, power=1)
        return {"device_id": device_id, "brightness": row.value("brightness"), "warmth": kelvin}

    @tool(idempotent=True)
    def set_thermostat(self, device_id: t.DeviceId, temperature: t.Degrees) -> t.ThermostatSet:
        """Set the temperature of a thermostat that is switched on."""
        row = self._set(self._powered(self._device(device_id, "thermostat")), "temperature", int(temperature))
        return {"device_id": device_id, "temperature": row.value("temperature")}

    @tool(idempotent=True)
    def lock_smart_lock(self, device_id: t.DeviceId) -> t.LockSet:
        """Lock a smart lock."""
        self._set(self._device(device_id, "smart_lock"), "locked", 1)
        return {"device_id": device_id, "locked": True}

    @tool(idempotent=True)
    def unlock_smart_lock(self, device_id: t.DeviceId) -> t.LockSet:
        """Unlock a smart lock of the user's own home; not while the home is away. Guests have access codes."""
        row = self._device(device_id, "smart_lock")
        home = self._own_home(self._home_of(row).home_id, "unlock it without an access code")
        if home.presence == "away":
            raise ToolError("denied", "the home is away", "Use set_home_presence or open_with_access_code.")
        self._set(row, "locked", 0)
        return {"device_id": device_id, "locked": False}

    @tool(idempotent=True)
    def set_blind(self, device_id: t.DeviceId, position: t.Position) -> t.BlindSet:
        """Open or close a blind."""
        row = self._set(self._device(device_id, "blind"), "position", int(position))
        return {"device_id": device_id, "position": row.value("position")}

    @tool(idempotent=True)
    def record_camera(self, device_id: t.DeviceId, on: t.On) -> t.CameraSet:
        """Start or stop a camera's recording; it needs to be on, and nobody may be home."""
        row = self._set(self._device(device_id, "camera"), "recording", int(on))
        return {"device_id": device_id, "recording": on, "angle": row.value("angle")}

    @tool(idempotent=True)
    def turn_camera(self, device_id: t.DeviceId, angle: t.Angle) -> t.CameraSet:
        """Turn a camera that is switched on."""
        row = self._set(self._powered(self._device(device_id, "camera")), "angle", int(angle))
        return {"device_id": device_id, "recording": bool(row.value("recording")), "angle": row.value("angle")}

    @tool(idempotent=True)
    def set_speaker_volume(self, device_id: t.DeviceId, volume: t.Volume) -> t.VolumeSet:
        """Set the volume of a speaker that is switched on; at night 30 at most."""
        row = self._set(self._powered(self._device(device_id, "speaker")), "volume", int(volume))
        return {"device_id": device_id, "volume": row.value("volume")}

    @tool()
    def start_vacuum(self, device_id: t.DeviceId, zone_ids: t.Zones) -> t.VacuumSet:
        """Clean zones of the vacuum's home; each takes 15 percent of its battery."""
        row, home = self._device(device_id, "vacuum"), self._home_of(self._device(device_id, "vacuum"))
        for key in zone_ids:
            if self._zone(key).home_id != home.home_id:
                raise ToolError("invalid_value", f"{key} is in another home", "list_zones shows the zones of a home.")
        if row.value("cleaning"):
            raise ToolError("wrong_state", "it is cleaning already", "Use dock_vacuum first.")
        needed = r.PER_ZONE * len(set(zone_ids))
        if needed >= row.battery > 0:
            what = f"{needed}% of battery would be used and {row.battery}% are left"
            raise ToolError("insufficient", what, "Clean fewer zones, or use dock_vacuum to charge.")
        row = self._set(row, "cleaning", 1)
        return vacuum_shown(self.devices.update(device_id, battery=row.battery - needed + r.PER_ZONE))

    @tool(idempotent=True)
    def dock_vacuum(self, device_id: t.DeviceId) -> t.VacuumSet:
        """Send a vacuum to its dock, where it stops cleaning and is charged."""
        row = self._device(device_id, "vacuum")
        return vacuum_shown(self.devices.put(device_id, replace(row.changed(cleaning=0), battery=100)))

    @tool(idempotent=True)
    def run_sprinkler(self, device_id: t.DeviceId, minutes: t.Minutes) -> t.SprinklerSet:
        """Water for some minutes; not when a sensor of the home finds the ground wet."""
        row = self._set(self._device(device_id, "sprinkler"), "minutes", int(minutes))
        return {"device_id": device_id, "minutes": row.value("minutes")}

    @tool(read_only=True)
    def read_sensor(self, device_id: t.DeviceId) -> t.Reading:
        """Read a sensor that is online."""
        row = self._device(device_id, "sensor")
        if row.senses is None or not row.online:
            raise ToolError("wrong_state", f"the sensor is offline: {row.status}", "Use restart_device first.")
        return {"device_id": device_id, "senses": row.senses, "value": row.reading, "unit": r.UNITS[row.senses]}

    # -- groups ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_device_groups(self, limit: Limit = 5) -> list[t.GroupShown]:
        """List the groups of devices."""
        return [group_shown(row) for row in list(self.groups.values())[: int(limit)]]

    @tool(read_only=True)
    def find_device_group(self, name: t.KnownName) -> t.GroupShown:
        """Find a group of devices by its name."""
        return group_shown(named(self.groups.values(), name, "group", "list_device_groups"))

    @tool(read_only=True)
    def list_group_devices(self, group_id: t.GroupId, limit: Limit = 5) -> list[t.DeviceRow]:
        """List the devices of a group."""
        row = existing(self.groups, group_id, "group", "list_device_groups")
        return [device_row(self.devices[key]) for key in row.devices[: int(limit)]]

    @tool()
    def create_device_group(self, name: t.NewName, device_ids: t.Devices) -> t.GroupShown:
        """Make a group of devices that can be switched on and off together."""
        for key in device_ids:
            self._checked(self._device(key), "power", 1)
        name = unused(self.groups.values(), name, "group")
        key = self.groups.fresh("dgrp", name)
        return group_shown(self.groups.put(key, r.Group(key, name, tuple(sorted(set(device_ids))))))

    @tool(idempotent=True)
    def switch_device_group(self, group_id: t.GroupId, on: t.On) -> t.Switched:
        """Switch all devices of a group on or off; those offline are skipped."""
        row = existing(self.groups, group_id, "group", "list_device_groups")
        switched, skipped = self._apply((key, "power", int(on)) for key in row.devices)
        return {"group_id": group_id, "switched": switched, "skipped": skipped}

    @tool(destructive=True)
    def delete_device_group(self, group_id: t.GroupId) -> t.GroupGone:
        """Delete a group; its devices stay."""
        existing(self.groups, group_id, "group", "list_device_groups")
        self.groups.remove(group_id)
        return {"group_id": group_id, "deleted": True}

    # -- scenes ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_scenes(self, home_id: t.HomeId, limit: Limit = 5) -> list[t.SceneShown]:
        """List the scenes of a home."""
        self._home(home_id)
        return [scene_shown(row) for row in self.scenes.where(lambda s: s.home_id == home_id)[: int(limit)]]

    @tool(read_only=True)
    def find_scene(self, name: t.KnownName) -> t.SceneShown:
        """Find a scene by its name."""
        return scene_shown(named(self.scenes.values(), name, "scene", "list_scenes"))

    @tool(read_only=True)
    def list_scene_settings(self, scene_id: t.SceneId, limit: Limit = 5) -> list[t.SceneSettingShown]:
        """List what a scene sets on which devices."""
        rows = self._scene(scene_id).settings[: int(limit)]
        return [{"device_id": device, "setting": setting, "value": value} for device, setting, value in rows]

    @tool()
    def create_scene(self, home_id: t.HomeId, name: t.NewName, settings: t.Settings) -> t.SceneShown:
        """Make a scene that sets devices of one home; each setting of a device once."""
        self._own_home(home_id, "make scenes")
        wanted = {}
        for each in settings:
            device, setting, value = self._device(each["device_id"]), each["setting"], int(each["value"])
            self._checked(device, setting, value)
            if self._home_of(device).home_id != home_id:
                raise ToolError("invalid_value", f"{device.device_id} is in another home", "Use devices of one home.")
            if (device.device_id, setting) in wanted:
                raise ToolError("invalid_value", f"{setting} of {device.device_id} comes twice", "Give it once.")
            wanted[device.device_id, setting] = value
        name = unused(self.scenes.values(), name, "scene")
        key = self.scenes.fresh("scene", name)
        rows = tuple(sorted((device, setting, value) for (device, setting), value in wanted.items()))
        return scene_shown(self.scenes.put(key, r.Scene(key, home_id, name, rows)))

    @tool(idempotent=True)
    def run_scene(self, scene_id: t.SceneId) -> t.SceneRun:
        """Set everything that a scene sets; what cannot be set now is skipped."""
        changed, skipped = self._apply(self._scene(scene_id).settings)
        return {"scene_id": scene_id, "changed": changed, "skipped": skipped}

    @tool(destructive=True)
    def delete_scene(self, scene_id: t.SceneId) -> t.SceneGone:
        """Delete a scene that no automation runs."""
        self._own_home(self._scene(scene_id).home_id, "delete scenes")
        users = self.automations.where(lambda a: a.scene_id == scene_id)
        if users:
            raise ToolError("conflict", f"{users[0].automation_id} runs the scene", "Use delete_automation first.")
        self.scenes.remove(scene_id)
        return {"scene_id": scene_id, "deleted": True}

    # -- automations -----------------------------------------------------------------------------

    @tool(read_only=True)
    def list_automations(self, home_id: t.HomeId, limit: Limit = 5) -> list[t.AutomationRow]:
        """List the automations of a home."""
        self._home(home_id)
        return [automation_row(row) for row in self.automations.where(lambda a: a.home_id == home_id)[: int(limit)]]

    @tool(read_only=True)
    def find_automation(self, name: t.KnownName) -> t.AutomationRow:
        """Find an automation by its name."""
        return automation_row(named(self.automations.values(), name, "automation", "list_automations"))

    @tool(read_only=True)
    def get_automation(self, automation_id: t.AutomationId) -> t.AutomationShown:
        """Show an automation: which scene it runs, and when."""
        row = self._automation(automation_id)
        return {
            "automation_id": row.automation_id,
            "name": row.name,
            "scene_id": row.scene_id,
            "trigger": row.trigger,
            "when": row.when,
            "enabled": row.enabled,
        }

    @tool(read_only=True)
    def next_automation(self, home_id: t.HomeId) -> t.AutomationNext:
        """Tell which enabled automation of a home is the next to run by time of day."""
        self._home(home_id)
        rows = self.automations.where(lambda a: a.home_id == home_id and a.enabled and a.trigger == "time")
        if not rows:
            raise ToolError("not_found", "no automation of this home runs by time", "list_automations shows them.")
        now = self.now.strftime("%H:%M")
        row = min(rows, key=lambda a: (a.at <= now, a.at, a.name))
        return {"automation_id": row.automation_id, "name": row.name, "at": row.at}

    @tool()
    def create_automation(self, name: t.NewName, scene_id: t.SceneId, trigger: t.Trigger) -> t.AutomationSet:
        """Make an automation that runs a scene at a time, on a presence, or on a sensor's reading."""
        scene = self._scene(scene_id)
        self._own_home(scene.home_id, "make automations")
        at, presence, sensor, above = self._trigger(scene.home_id, trigger)
        name = unused(self.automations.values(), name, "automation")
        key = self.automations.fresh("autom", name)
        row = r.Automation(key, scene.home_id, name, scene_id, trigger["kind"], at, presence, sensor, above, True)
        return {"automation_id": key, "enabled": self.automations.put(key, row).enabled}

    @tool(idempotent=True)
    def enable_automation(self, automation_id: t.AutomationId, enabled: t.Enabled) -> t.AutomationSet:
        """Let an automation run by itself, or not."""
        self._own_home(self._automation(automation_id).home_id, "change automations")
        return {"automation_id": automation_id, "enabled": self.automations.update(automation_id, enabled=enabled).enabled}

    @tool()
    def run_automation(self, automation_id: t.AutomationId) -> t.SceneRun:
        """Run an enabled automation now; its sensor must read more than its threshold, its presence must be set."""
        row = self._automation(automation_id)
        if not row.enabled:
            raise ToolError("wrong_state", "the automation is not enabled", "Use enable_automation first.")
        if row.presence and row.presence != self.homes[row.home_id].presence:
            raise ToolError("wrong_state", f"the home's presence is not {row.presence}", "Use set_home_presence first.")
        if row.sensor_id:
            sensor = self.devices[row.sensor_id]
            if not sensor.online or sensor.reading <= row.above:
                raise ToolError("wrong_state", f"{row.sensor_id} does not read more than {row.above}", "Use run_scene instead.")
        changed, skipped = self._apply(self.scenes[row.scene_id].settings)
        return {"scene_id": row.scene_id, "changed": changed, "skipped": skipped}

    @tool(destructive=True)
    def delete_automation(self, automation_id: t.AutomationId) -> t.AutomationGone:
        """Delete an automation; its scene stays."""
        self._own_home(self._automation(automation_id).home_id, "delete automations")
        self.automations.remove(automation_id)
        return {"automation_id": automation_id, "deleted": True}

    # -- access codes ----------------------------------------------------------------------------

    @tool(read_only=True)
    def list_access_codes(self, limit: Limit = 5) -> list[t.CodeShown]:
        """List the access codes that guests have for smart locks, the last to expire first."""
        rows = sorted(self.codes.values(), key=lambda c: (c.last, c.access_code_id), reverse=True)
        return [self._code_shown(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_access_code(self, guest: t.KnownName) -> t.CodeShown:
        """Find a guest's access code by the guest's full name, one that is not revoked first."""
        rows = sorted(self.codes.values(), key=lambda c: (c.revoked, c.access_code_id))
        return self._code_shown(named(rows, guest, "access code of a guest", "list_access_codes"))

    @tool()
    def create_access_code(
        self, device_id: t.DeviceId, guest: t.NewName, days: t.CodeDays, first: t.First = None
    ) -> t.CodeState:
        """Give a guest a code for a smart lock, for some days from today or a later day; it ends within 90 days."""
        lock = self._device(device_id, "smart_lock")
        self._own_home(self._home_of(lock).home_id, "give codes")
        today = self.now.date()
        begin = today if first is None else date_of(first)
        end = begin + dt.timedelta(days=int(days) - 1)
        if begin < today or (end - today).days > 90:
            raise ToolError("invalid_value", "a code begins from today on and ends within 90 days", "Choose other days.")
        name = unused(self.codes.where(lambda c: c.device_id == device_id and not c.revoked), guest, "code of a guest")
        if self._valid_codes(device_id) >= r.MAX_CODES:
            raise ToolError("insufficient", f"the lock has {r.MAX_CODES} codes", "Use revoke_access_code first.")
        key = self.codes.fresh("acode", device_id, name, begin.isoformat())
        row = self.codes.put(key, r.Code(key, device_id, name, begin.isoformat(), end.isoformat(), 0, False))
        return {"access_code_id": key, "status": row.status(self._today())}

    @tool()
    def open_with_access_code(self, access_code_id: t.CodeId) -> t.CodeUsed:
        """Unlock a smart lock with a guest's access code that is valid today."""
        row = self._code(access_code_id)
        status = row.status(self._today())
        if status != "valid":
            raise ToolError("denied", f"the code is {status}", "list_access_codes shows the valid ones.")
        self._set(self.devices[row.device_id], "locked", 0)
        row = self.codes.update(access_code_id, uses=row.uses + 1)
        return {"access_code_id": access_code_id, "device_id": row.device_id, "locked": False, "uses": row.uses}

    @tool(destructive=True)
    def revoke_access_code(self, access_code_id: t.CodeId) -> t.CodeState:
        """Make an access code useless for good."""
        row = self._code(access_code_id)
        self._own_home(self._home_of(self.devices[row.device_id]).home_id, "revoke codes")
        if row.revoked:
            raise ToolError("wrong_state", "the code is revoked already", "list_access_codes shows the others.")
        return {
            "access_code_id": access_code_id,
            "status": self.codes.update(access_code_id, revoked=True).status(self._today()),
        }

    # -- energy and firmware ---------------------------------------------------------------------

    @tool(read_only=True)
    def get_device_energy(self, device_id: t.DeviceId, days: t.Days = 7) -> t.DeviceEnergy:
        """Show the energy that a device took over the last days, and its cost."""
        row = self._device(device_id)
        if device_id not in self.meters:
            raise ToolError("invalid_value", f"a {row.kind} runs on battery", "Choose a device that runs on mains.")
        return self._energy_shown(row, int(days))

    @tool(read_only=True)
    def get_zone_energy(self, zone_id: t.ZoneId, days: t.Days = 7) -> t.ZoneEnergy:
        """Add up the energy of a zone's devices over the last days."""
        zone = self._zone(zone_id)
        rows = [row.device_id for row in self.devices.values() if row.zone_id == zone_id and row.device_id in self.meters]
        wh = sum(self._used(key, int(days)) for key in rows)
        cost = round(wh * self.homes[zone.home_id].tariff / 100_000, 2)
        return {"zone_id": zone_id, "devices": len(rows), "kwh": round(wh / 1000, 2), "cost": cost}

    @tool(read_only=True)
    def top_energy_devices(self, home_id: t.HomeId, days: t.Days = 7, limit: Limit = 5) -> list[t.DeviceEnergy]:
        """List the devices of a home that took the most energy over the last days."""
        self._home(home_id)
        rows = sorted(self._in_home(home_id), key=lambda d: (-self._used(d.device_id, int(days)), d.device_id))
        return [self._energy_shown(row, int(days)) for row in rows if row.device_id in self.meters][: int(limit)]

    @tool(read_only=True)
    def list_firmware_updates(self, home_id: t.HomeId, limit: Limit = 5) -> list[t.Firmware]:
        """List the devices of a home whose firmware is not the latest."""
        self._home(home_id)
        rows = [d for d in self._in_home(home_id) if d.firmware < self.firmware[d.kind].version]
        return [
            {"device_id": d.device_id, "version": d.firmware, "latest": self.firmware[d.kind].version}
            for d in rows[: int(limit)]
        ]

    @tool()
    def install_firmware(self, device_id: t.DeviceId) -> t.FirmwareSet:
        """Install the latest firmware on a device that is online, with 30 percent of battery, and not cleaning."""
        row = self._device(device_id)
        latest = self.firmware[row.kind].version
        if row.firmware == latest:
            raise ToolError("conflict", f"it has the latest firmware, {latest}", "list_firmware_updates shows who needs it.")
        if not row.online or 0 <= row.battery < r.UPDATE_FROM or (row.kind == "vacuum" and row.on):
            raise ToolError("wrong_state", "it is offline, low on battery, or busy", "get_device shows its status.")
        return {"device_id": device_id, "version": self.devices.update(device_id, firmware=latest).firmware}
