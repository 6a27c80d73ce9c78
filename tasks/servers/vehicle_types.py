"""Identifiers, argument types and result types of the vehicle server.

Run: nothing here runs by itself; `tasks.servers.vehicle` is the server.

Left out: rows, which results show only in part.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Date, identifier

DoorId = identifier("door", "door")
WindowId = identifier("window", "win")
CarSeatId = identifier("car_seat", "cseat")
TireId = identifier("tire", "tire")
ProfileId = identifier("driver_profile", "drv")
CarKeyId = identifier("car_key", "ckey")
DestinationId = identifier("destination", "dest")
StationId = identifier("charge_station", "chst")
ChargeId = identifier("charge", "chg")
TripLogId = identifier("trip_log", "tlog")
GarageId = identifier("garage", "gar")
VisitId = identifier("service_visit", "svc")

Mode = Literal["parked", "ready", "driving"]
GearName = Literal["P", "R", "N", "D"]
LightMode = Literal["off", "parking", "low", "high"]
WiperMode = Literal["off", "interval", "slow", "fast"]
Flow = Literal["face", "feet", "windscreen"]
Role = Literal["owner", "family", "valet"]
KeyKind = Literal["fob", "phone", "card"]
Purpose = Literal["private", "business", "commute"]
Work = Literal["tires", "brakes", "battery", "inspection", "wash", "software"]
ChargeStatus = Literal["charging", "finished"]
VisitStatus = Literal["booked", "done", "cancelled"]
PlaceKind = Literal["home", "work", "shop", "school", "sport", "health", "leisure"]

DoorPlace = Literal["front_left", "front_right", "rear_left", "rear_right", "trunk"]
WindowPlace = Literal["front_left", "front_right", "rear_left", "rear_right", "sunroof"]
SeatPlace = Literal["driver", "front_right", "rear_left", "rear_middle", "rear_right"]
TirePlace = Literal["front_left", "front_right", "rear_left", "rear_right"]

WhichDoor = Annotated[DoorPlace, Field(description="Where the door is; trunk is the tailgate.")]
WhichWindow = Annotated[WindowPlace, Field(description="Where the window is.")]
WhichSeat = Annotated[SeatPlace, Field(description="Where the seat is.")]
WhichTire = Annotated[TirePlace, Field(description="Where the tire is.")]
NewGear = Annotated[GearName, Field(description="P park, R reverse, N neutral, D drive.")]
Lights = Annotated[LightMode, Field(description="Which headlights are on.")]
Wipers = Annotated[WiperMode, Field(description="How fast the wipers move.")]
NewKeyKind = Annotated[KeyKind, Field(description="What kind of key.")]
NewPurpose = Annotated[Purpose, Field(description="What the trip was for.")]
AnyPurpose = Annotated[Literal["any", "private", "business", "commute"], Field(description="Only trips for this purpose.")]
AnyPlaceKind = Annotated[
    Literal["any", "home", "work", "shop", "school", "sport", "health", "leisure"],
    Field(description="Only destinations of this kind."),
]
AnyWork = Annotated[
    Literal["any", "tires", "brakes", "battery", "inspection", "wash", "software"],
    Field(description="Only garages that do this work."),
]
FreeDay = Annotated[Date | None, Field(description="A day; the garage's first free day if left out.")]
Works = Annotated[list[Work], Field(min_length=1, max_length=6, description="The work to be done.")]
Doors = Annotated[list[DoorId], Field(min_length=1, max_length=5, description="Identifiers of doors.")]
Via = Annotated[list[DestinationId] | None, Field(max_length=4, description="Stops on the way, in order.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
NewName = Annotated[str, Field(min_length=1, max_length=40, description="A name, not yet in use.")]
Speed = Annotated[int, Field(ge=1, le=180, description="Speed in km/h.")]
CruiseSpeed = Annotated[int, Field(ge=30, le=150, description="Speed to hold, in km/h.")]
TopSpeed = Annotated[int, Field(ge=30, le=180, description="The fastest that this driver may go, in km/h.")]
Distance = Annotated[float, Field(ge=0.1, le=100, description="Kilometers.")]
Opening = Annotated[int, Field(ge=0, le=100, description="Percent: 0 closed, 100 fully open.")]
Engaged = Annotated[bool, Field(description="Whether it holds the car.")]
SwitchedOn = Annotated[bool, Field(description="Whether the key works.")]
OnlyLow = Annotated[bool, Field(description="Only tires below the wanted pressure.")]
After = Annotated[Date | None, Field(description="A day; today if left out.")]
Pressure = Annotated[int, Field(ge=150, le=350, description="Pressure in kPa.")]
Minutes = Annotated[int, Field(ge=1, le=600, description="Minutes of charging.")]
Percent = Annotated[int, Field(ge=50, le=100, description="Percent of the battery's capacity.")]
Temperature = Annotated[int, Field(ge=16, le=28, description="Degrees Celsius.")]


# -- arguments ---------------------------------------------------------------------------------


class ClimateSettings(TypedDict):
    """What the climate control is to do."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    temperature: Temperature
    fan: NotRequired[Annotated[int, Field(ge=1, le=5, description="Fan speed; as it is if left out.")]]
    flow: NotRequired[Annotated[Flow, Field(description="Where the air goes; as it is if left out.")]]


class ProfileSettings(TypedDict):
    """What a driver likes and may do."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    temperature: Temperature
    max_speed: TopSpeed
    seat_position: NotRequired[Annotated[int, Field(ge=1, le=9, description="1 near the wheel to 9 far; 5 if left out.")]]


# -- results -----------------------------------------------------------------------------------


class VehicleShown(TypedDict):
    mode: Mode
    gear: GearName
    speed: int
    battery_percent: int
    range_km: int
    odometer_km: int


class ControlsShown(TypedDict):
    brake_pressed: bool
    parking_brake: bool
    cruise: int
    lights: LightMode
    wipers: WiperMode


class EngineStarted(TypedDict):
    mode: Mode
    profile_id: ProfileId


class EngineStopped(TypedDict):
    mode: Mode
    trip_log_id: NotRequired[TripLogId]


class BrakeShown(TypedDict):
    brake_pressed: bool
    speed: int


class ParkingBrakeShown(TypedDict):
    parking_brake: bool


class GearShown(TypedDict):
    gear: GearName
    mode: Mode


class SpeedShown(TypedDict):
    speed: int
    cruise: int


class Driven(TypedDict):
    driven_km: float
    left_km: float
    battery_percent: int


class LightsShown(TypedDict):
    lights: LightMode


class WipersShown(TypedDict):
    wipers: WiperMode


class DoorShown(TypedDict):
    door_id: DoorId
    place: DoorPlace
    open: bool
    locked: bool


class DoorState(TypedDict):
    door_id: DoorId
    open: bool


class DoorLock(TypedDict):
    door_id: DoorId
    locked: bool


class WindowShown(TypedDict):
    window_id: WindowId
    place: WindowPlace
    open_percent: int


class WindowState(TypedDict):
    window_id: WindowId
    open_percent: int


class SeatShown(TypedDict):
    seat_id: CarSeatId
    place: SeatPlace
    occupied: bool
    belt_fastened: bool


class BeltState(TypedDict):
    seat_id: CarSeatId
    belt_fastened: bool


class ClimateShown(TypedDict):
    on: bool
    temperature: int
    fan: int
    flow: Flow


class TireShown(TypedDict):
    tire_id: TireId
    place: TirePlace
    pressure: int
    wanted: int


class TireState(TypedDict):
    tire_id: TireId
    pressure: int


class ProfileRow(TypedDict):
    profile_id: ProfileId
    name: str
    role: Role


class ProfileShown(TypedDict):
    profile_id: ProfileId
    role: Role
    max_speed: int
    temperature: int
    seat_position: int
    active: bool


class ProfileDone(TypedDict):
    profile_id: ProfileId
    max_speed: int


class ProfileGone(TypedDict):
    profile_id: ProfileId
    keys_removed: int


class KeyShown(TypedDict):
    key_id: CarKeyId
    profile_id: ProfileId
    kind: KeyKind
    active: bool


class KeyState(TypedDict):
    key_id: CarKeyId
    active: bool


class DestinationShown(TypedDict):
    destination_id: DestinationId
    name: str
    kind: PlaceKind
    distance_km: float


class RouteShown(TypedDict):
    destination_id: DestinationId
    left_km: float
    stops: int
    enough_energy: bool


class RouteEnded(TypedDict):
    destination_id: DestinationId
    cancelled: bool


class StationShown(TypedDict):
    station_id: StationId
    name: str
    destination_id: DestinationId
    power_kw: int
    price_per_kwh: float
    free_plugs: int


class StationRow(TypedDict):
    station_id: StationId
    name: str
    distance_km: float
    free_plugs: int


class ChargeRow(TypedDict):
    charge_id: ChargeId
    day: Date
    kwh: float
    status: ChargeStatus


class ChargeState(TypedDict):
    charge_id: ChargeId
    battery_percent: int
    kwh: float


class ChargeDone(TypedDict):
    charge_id: ChargeId
    kwh: float
    cost: float


class ChargeShown(TypedDict):
    charge_id: ChargeId
    station_id: StationId
    status: ChargeStatus
    day: Date
    kwh: float
    cost: float


class LimitShown(TypedDict):
    limit_percent: int


class TripRow(TypedDict):
    trip_log_id: TripLogId
    day: Date
    km: float
    purpose: Purpose


class TripShown(TypedDict):
    trip_log_id: TripLogId
    profile_id: ProfileId
    day: Date
    km: float
    kwh: float
    purpose: Purpose


class TripPurpose(TypedDict):
    trip_log_id: TripLogId
    purpose: Purpose


class TripSum(TypedDict):
    profile_id: ProfileId
    trips: int
    km: float
    kwh: float


class GarageRow(TypedDict):
    garage_id: GarageId
    name: str
    works: list[Work]


class GarageDay(TypedDict):
    garage_id: GarageId
    day: Date


class VisitRow(TypedDict):
    service_visit_id: VisitId
    garage_id: GarageId
    day: Date
    status: VisitStatus
    price: float


class VisitDone(TypedDict):
    service_visit_id: VisitId
    day: Date
    price: float


class VisitGone(TypedDict):
    service_visit_id: VisitId
    status: VisitStatus
