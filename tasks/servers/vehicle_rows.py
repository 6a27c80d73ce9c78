"""Rows of the vehicle server, and pure functions on them.

Run: nothing here runs by itself; `tasks.servers.vehicle` is the server.

Left out: streets. The country is a grid in units of 100 m, and the car drives east or west first, then north or south.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.servers import vehicle_types as t

CRUISE_FROM = 30
"""km/h below which cruise control does not engage."""
SUNROOF_UPTO = 100
"""km/h above which the sunroof stays as it is."""
PRICES: dict[t.Work, int] = {
    "tires": 8_000,
    "brakes": 24_000,
    "battery": 12_000,
    "inspection": 9_500,
    "wash": 2_500,
    "software": 4_000,
}
"""Cents of each work at a garage of level 100."""


@dataclass(frozen=True, slots=True)
class Car:
    """The car. Lengths in 100 m, energy in Wh, speeds in km/h.

    `key_id` started the engine (empty: it is off). `charge_id` is the charge under way (empty: unplugged). `since` and
    `used` are the odometer and the energy used since the engine started.
    """

    profile_id: str
    key_id: str
    gear: t.GearName
    brake: bool
    parking_brake: bool
    speed: int
    cruise: int
    x: int
    y: int
    odometer: int
    battery: int
    capacity: int
    charge_id: str
    charge_limit: int
    since: int
    used: int
    lights: t.LightMode
    wipers: t.WiperMode

    @property
    def mode(self) -> t.Mode:
        if not self.key_id:
            return "parked"
        return "driving" if self.gear in ("R", "D") else "ready"

    @property
    def percent(self) -> int:
        return self.battery * 100 // self.capacity


@dataclass(frozen=True, slots=True)
class Climate:
    on: bool
    temperature: int
    fan: int
    flow: t.Flow


@dataclass(frozen=True, slots=True)
class Route:
    """Destinations still to be reached, the last one is the goal; empty: no navigation."""

    stops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Door:
    door_id: str
    place: t.DoorPlace
    open: bool
    locked: bool


@dataclass(frozen=True, slots=True)
class Window:
    window_id: str
    place: t.WindowPlace
    percent: int


@dataclass(frozen=True, slots=True)
class CarSeat:
    seat_id: str
    place: t.SeatPlace
    occupied: bool
    belted: bool


@dataclass(frozen=True, slots=True)
class Tire:
    tire_id: str
    place: t.TirePlace
    kpa: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Profile:
    profile_id: str
    name: str
    role: t.Role
    max_speed: int
    temperature: int
    seat_position: int


@dataclass(frozen=True, slots=True)
class CarKey:
    key_id: str
    profile_id: str
    kind: t.KeyKind
    active: bool


@dataclass(frozen=True, slots=True)
class Destination:
    destination_id: str
    name: str
    kind: t.PlaceKind
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Station:
    """`free` plugs; `price` in cents a kWh."""

    station_id: str
    name: str
    destination_id: str
    kw: int
    price: int
    free: int


@dataclass(frozen=True, slots=True)
class Charge:
    charge_id: str
    station_id: str
    day: str
    wh: int
    cents: int
    status: t.ChargeStatus


@dataclass(frozen=True, slots=True)
class Trip:
    trip_log_id: str
    profile_id: str
    day: str
    length: int
    wh: int
    purpose: t.Purpose


@dataclass(frozen=True, slots=True)
class Garage:
    """`level` is its price level in percent; closed on one `weekday` (0 is Monday); `full` are the days without a slot."""

    garage_id: str
    name: str
    works: tuple[t.Work, ...]
    level: int
    weekday: int
    full: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Visit:
    service_visit_id: str
    garage_id: str
    day: str
    works: tuple[t.Work, ...]
    cents: int
    status: t.VisitStatus


def consumption(speed: int, climate: bool, soft: int) -> int:
    """Wh for 100 m at a speed, with or without climate control, with so many soft tires."""
    return 12 + speed // 10 + 2 * climate + soft


def distance(x: int, y: int, place: Destination) -> int:
    """The way to a place, in 100 m."""
    return abs(place.x - x) + abs(place.y - y)


def toward(x: int, y: int, place: Destination, length: int) -> tuple[int, int]:
    """The position after going at most `length` toward a place."""
    east = max(-length, min(length, place.x - x))
    rest = length - abs(east)
    return x + east, y + max(-rest, min(rest, place.y - y))


def km(length: int) -> float:
    """100 m as kilometers."""
    return length / 10


def kwh(wh: int) -> float:
    """Wh as kWh, two decimals."""
    return round(wh / 1000, 2)


def cost(wh: int, price: int) -> int:
    """Cents for energy at a price in cents a kWh, rounded up."""
    return -(-wh * price // 1000)
