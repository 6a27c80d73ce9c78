"""Rows of the iot_devices server, what each kind of device can do, and pure functions on them.

Run: nothing here runs by itself; `tasks.servers.iot_devices` is the server.

Left out: units other than whole ones. Every setting is an integer; on and off are 1 and 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from tasks.servers import iot_devices_types as t

Fault = Literal["", "no_wifi", "unplugged"]

CAPABILITIES: Mapping[t.Kind, Mapping[t.Setting, tuple[int, int]]] = {
    "lamp": {"power": (0, 1), "brightness": (1, 100), "warmth": (2200, 6500)},
    "thermostat": {"power": (0, 1), "temperature": (10, 30)},
    "smart_lock": {"locked": (0, 1)},
    "blind": {"position": (0, 100)},
    "camera": {"power": (0, 1), "recording": (0, 1), "angle": (0, 180)},
    "speaker": {"power": (0, 1), "volume": (0, 100)},
    "plug": {"power": (0, 1)},
    "sensor": {},
    "vacuum": {"cleaning": (0, 1)},
    "sprinkler": {"minutes": (0, 60)},
}
"""What each kind of device has, and from which to which value."""
ON_BATTERY: tuple[t.Kind, ...] = ("smart_lock", "blind", "sensor", "vacuum")
UNITS: Mapping[t.Sense, str] = {"temperature": "C", "humidity": "%", "moisture": "%", "contact": "open", "motion": "seen"}
QUIET = 30
"""The loudest volume at night."""
WET = 60
"""Percent of moisture above which sprinklers stay off."""
PER_ZONE = 15
"""Percent of a vacuum's battery that one zone takes."""
UPDATE_FROM = 30
"""Percent of battery from which firmware can be installed."""
MAX_CODES = 5
"""Valid access codes of one lock."""


@dataclass(frozen=True, slots=True)
class Home:
    """`role` is the user's; `tariff` in cents a kWh."""

    home_id: str
    name: str
    city: str
    presence: t.Presence
    role: t.HomeRole
    tariff: int


@dataclass(frozen=True, slots=True)
class Zone:
    zone_id: str
    home_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Device:
    """`battery` is -1 on mains; `values` are its settings, sorted; `senses` and `reading` are a sensor's."""

    device_id: str
    zone_id: str
    name: str
    kind: t.Kind
    fault: Fault
    battery: int
    firmware: int
    values: tuple[tuple[t.Setting, int], ...]
    senses: t.Sense | None = None
    reading: int = 0

    @property
    def online(self) -> bool:
        return not self.fault and self.battery != 0

    @property
    def status(self) -> str:
        return self.fault or ("battery_empty" if self.battery == 0 else "online")

    @property
    def on(self) -> bool:
        """Whether it is switched on, cleans, or waters; False for kinds that are never on or off."""
        return any(value > 0 for setting, value in self.values if setting in ("power", "cleaning", "minutes"))

    def value(self, setting: t.Setting) -> int:
        return dict(self.values)[setting]

    def changed(self, **values: int) -> Device:
        """The device with other values of settings that it has."""
        return replace(self, values=tuple((setting, values.get(setting, value)) for setting, value in self.values))


@dataclass(frozen=True, slots=True)
class Group:
    group_id: str
    name: str
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """`settings`: (device, setting, value)."""

    scene_id: str
    home_id: str
    name: str
    settings: tuple[tuple[str, t.Setting, int], ...]


@dataclass(frozen=True, slots=True)
class Automation:
    """Runs a scene of its home. Of `at`, `presence` and `sensor_id` the trigger's is set, the others are empty."""

    automation_id: str
    home_id: str
    name: str
    scene_id: str
    trigger: t.TriggerKind
    at: str
    presence: str
    sensor_id: str
    above: int
    enabled: bool

    @property
    def when(self) -> str:
        return self.at or self.presence or f"{self.sensor_id} above {self.above}"


@dataclass(frozen=True, slots=True)
class Code:
    """A guest's code for a lock, from `first` to `last`; `name` is the guest's."""

    access_code_id: str
    device_id: str
    name: str
    first: str
    last: str
    uses: int
    revoked: bool

    def status(self, today: str) -> t.CodeStatus:
        if self.revoked:
            return "revoked"
        return "not_yet" if today < self.first else "expired" if today > self.last else "valid"


@dataclass(frozen=True, slots=True)
class Meter:
    """Wh of the last seven days, the latest first."""

    device_id: str
    daily: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Latest:
    """The latest firmware of a kind."""

    kind: t.Kind
    version: int


def lowest(kind: t.Kind) -> tuple[tuple[t.Setting, int], ...]:
    """The values of a device that was just installed: everything off and low."""
    return tuple(sorted((setting, low) for setting, (low, _) in CAPABILITIES[kind].items()))


def battery_of(kind: t.Kind) -> int:
    """A full battery, or -1 on mains."""
    return 100 if kind in ON_BATTERY else -1
