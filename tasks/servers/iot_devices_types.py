"""Identifiers, argument types and result types of the iot_devices server.

Run: nothing here runs by itself; `tasks.servers.iot_devices` is the server.

Left out: rows, which results show only in part.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Date, Time, identifier

HomeId = identifier("home", "home")
ZoneId = identifier("zone", "zone")
DeviceId = identifier("device", "dvc")
GroupId = identifier("device_group", "dgrp")
SceneId = identifier("scene", "scene")
AutomationId = identifier("automation", "autom")
CodeId = identifier("access_code", "acode")

Kind = Literal["lamp", "thermostat", "smart_lock", "blind", "camera", "speaker", "plug", "sensor", "vacuum", "sprinkler"]
Presence = Literal["home", "away", "night"]
HomeRole = Literal["owner", "guest"]
Setting = Literal[
    "power", "brightness", "warmth", "temperature", "locked", "position", "recording", "angle", "volume", "cleaning", "minutes"
]
Sense = Literal["temperature", "humidity", "moisture", "contact", "motion"]
TriggerKind = Literal["time", "presence", "sensor"]
CodeStatus = Literal["valid", "expired", "revoked", "not_yet"]

AnyKind = Annotated[
    Literal["any", "lamp", "thermostat", "smart_lock", "blind", "camera", "speaker", "plug", "sensor", "vacuum", "sprinkler"],
    Field(description="Only devices of this kind."),
]
NewKind = Annotated[
    Literal["lamp", "thermostat", "smart_lock", "blind", "camera", "speaker", "plug", "vacuum", "sprinkler"],
    Field(description="The kind of device."),
]
NewPresence = Annotated[Presence, Field(description="Whether people are home, away, or asleep.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
On = Annotated[bool, Field(description="Whether it is to be on.")]
Brightness = Annotated[int, Field(ge=1, le=100, description="Brightness in percent.")]
Warmth = Annotated[int | None, Field(ge=2200, le=6500, description="Color temperature in kelvin; as it is if left out.")]
Degrees = Annotated[int, Field(ge=10, le=30, description="Degrees Celsius to be reached.")]
Position = Annotated[int, Field(ge=0, le=100, description="Percent: 0 closed, 100 fully open.")]
Angle = Annotated[int, Field(ge=0, le=180, description="Degrees: 0 left, 90 ahead, 180 right.")]
Volume = Annotated[int, Field(ge=0, le=100, description="Volume in percent.")]
Minutes = Annotated[int, Field(ge=0, le=60, description="Minutes of water; 0 stops it.")]
Days = Annotated[int, Field(ge=1, le=7, description="Over so many of the last days.")]
CodeDays = Annotated[int, Field(ge=1, le=90, description="For how many days it works.")]
First = Annotated[Date | None, Field(description="The first day; today if left out.")]
Enabled = Annotated[bool, Field(description="Whether it runs by itself.")]
Devices = Annotated[list[DeviceId], Field(min_length=1, max_length=10, description="Identifiers of devices.")]
Zones = Annotated[list[ZoneId], Field(min_length=1, max_length=6, description="Identifiers of zones.")]


# -- arguments ---------------------------------------------------------------------------------


class DeviceFilter(TypedDict):
    """Which devices are wanted; all given conditions hold."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    home_id: NotRequired[HomeId]
    kind: NotRequired[Annotated[Kind, Field(description="Only devices of this kind.")]]
    online: NotRequired[Annotated[bool, Field(description="Only devices that are online, or offline.")]]
    on: NotRequired[Annotated[bool, Field(description="Only devices that are switched on, or off.")]]


class SceneSetting(TypedDict):
    """What a scene does to one device."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    device_id: DeviceId
    setting: Annotated[Setting, Field(description="What to set; list_device_settings shows what a device has.")]
    value: Annotated[int, Field(ge=0, le=6500, description="The new value; 0 and 1 are off and on.")]


class Trigger(TypedDict):
    """What starts an automation: a time of day, a presence, or a sensor's reading."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    kind: Annotated[TriggerKind, Field(description="time needs at, presence needs presence, sensor needs sensor_id and above.")]
    at: NotRequired[Time]
    presence: NotRequired[NewPresence]
    sensor_id: NotRequired[DeviceId]
    above: NotRequired[Annotated[int, Field(ge=0, le=100, description="Starts when the sensor reads more.")]]


Settings = Annotated[list[SceneSetting], Field(min_length=1, max_length=10, description="What the scene sets.")]


# -- results -----------------------------------------------------------------------------------


class HomeShown(TypedDict):
    home_id: HomeId
    name: str
    city: str
    presence: Presence
    role: HomeRole


class PresenceSet(TypedDict):
    home_id: HomeId
    presence: Presence
    automations_run: int


class ZoneShown(TypedDict):
    zone_id: ZoneId
    name: str
    home_id: HomeId
    devices: int


class DeviceRow(TypedDict):
    device_id: DeviceId
    name: str
    kind: Kind
    online: bool


class DeviceFound(TypedDict):
    device_id: DeviceId
    kind: Kind
    zone_id: ZoneId


class DeviceShown(TypedDict):
    device_id: DeviceId
    name: str
    kind: Kind
    zone_id: ZoneId
    status: str
    battery: NotRequired[int]


class DeviceMoved(TypedDict):
    device_id: DeviceId
    zone_id: ZoneId


class DeviceNamed(TypedDict):
    device_id: DeviceId
    name: str


class DeviceOnline(TypedDict):
    device_id: DeviceId
    online: bool


class DeviceGone(TypedDict):
    device_id: DeviceId
    removed: bool


class SettingShown(TypedDict):
    setting: Setting
    value: int
    lowest: int
    highest: int


class PowerSet(TypedDict):
    device_id: DeviceId
    on: bool


class LampSet(TypedDict):
    device_id: DeviceId
    brightness: int
    warmth: int


class ThermostatSet(TypedDict):
    device_id: DeviceId
    temperature: int


class LockSet(TypedDict):
    device_id: DeviceId
    locked: bool


class BlindSet(TypedDict):
    device_id: DeviceId
    position: int


class CameraSet(TypedDict):
    device_id: DeviceId
    recording: bool
    angle: int


class VolumeSet(TypedDict):
    device_id: DeviceId
    volume: int


class VacuumSet(TypedDict):
    device_id: DeviceId
    cleaning: bool
    battery: int


class SprinklerSet(TypedDict):
    device_id: DeviceId
    minutes: int


class Reading(TypedDict):
    device_id: DeviceId
    senses: Sense
    value: int
    unit: str


class GroupShown(TypedDict):
    group_id: GroupId
    name: str
    devices: int


class Switched(TypedDict):
    group_id: GroupId
    switched: int
    skipped: int


class GroupGone(TypedDict):
    group_id: GroupId
    deleted: bool


class SceneShown(TypedDict):
    scene_id: SceneId
    name: str
    home_id: HomeId
    settings: int


class SceneSettingShown(TypedDict):
    device_id: DeviceId
    setting: Setting
    value: int


class SceneRun(TypedDict):
    scene_id: SceneId
    changed: int
    skipped: int


class SceneGone(TypedDict):
    scene_id: SceneId
    deleted: bool


class AutomationRow(TypedDict):
    automation_id: AutomationId
    name: str
    trigger: TriggerKind
    enabled: bool


class AutomationShown(TypedDict):
    automation_id: AutomationId
    name: str
    scene_id: SceneId
    trigger: TriggerKind
    when: str
    enabled: bool


class AutomationSet(TypedDict):
    automation_id: AutomationId
    enabled: bool


class AutomationNext(TypedDict):
    automation_id: AutomationId
    name: str
    at: str


class AutomationGone(TypedDict):
    automation_id: AutomationId
    deleted: bool


class CodeShown(TypedDict):
    access_code_id: CodeId
    guest: str
    device_id: DeviceId
    until: Date
    status: CodeStatus


class CodeState(TypedDict):
    access_code_id: CodeId
    status: CodeStatus


class CodeUsed(TypedDict):
    access_code_id: CodeId
    device_id: DeviceId
    locked: bool
    uses: int


class DeviceEnergy(TypedDict):
    device_id: DeviceId
    kwh: float
    cost: float


class ZoneEnergy(TypedDict):
    zone_id: ZoneId
    devices: int
    kwh: float
    cost: float


class Firmware(TypedDict):
    device_id: DeviceId
    version: int
    latest: int


class FirmwareSet(TypedDict):
    device_id: DeviceId
    version: int
