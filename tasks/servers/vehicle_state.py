"""What the vehicle server's tools share: modes and who may do what, the way ahead, and how rows are shown.

Run: nothing here runs by itself; `tasks.servers.vehicle` is the server.

Left out: tools. Every method here is a step of one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from tasks.servers import vehicle_rows as r
from tasks.servers import vehicle_types as t
from tasks.servers.lookup import existing
from tasks.servers.state import Table
from tasks.servers.tool import ToolError
from tasks.servers.typed import date_of, money
from tasks.servers.vehicle_rows import PRICES, consumption, distance, km, kwh


class CarState:
    """The tables of the car, and the steps that tools are made of."""

    now: dt.datetime
    car: Table[r.Car]
    climate: Table[r.Climate]
    route: Table[r.Route]
    doors: Table[r.Door]
    windows: Table[r.Window]
    seats: Table[r.CarSeat]
    tires: Table[r.Tire]
    profiles: Table[r.Profile]
    keys: Table[r.CarKey]
    destinations: Table[r.Destination]
    stations: Table[r.Station]
    charges: Table[r.Charge]
    trips: Table[r.Trip]
    garages: Table[r.Garage]
    visits: Table[r.Visit]

    # -- modes and permissions -------------------------------------------------------------------

    def _parked(self, what: str) -> r.Car:
        """The car, when its engine is off."""
        car = self.car["car"]
        if car.mode != "parked":
            raise ToolError("wrong_state", f"{what} needs the engine off; the car is {car.mode}", "Use stop_engine first.")
        return car

    def _running(self, what: str) -> r.Car:
        """The car, when its engine is on."""
        car = self.car["car"]
        if car.mode == "parked":
            raise ToolError("wrong_state", f"{what} needs the engine on", "Use start_engine first.")
        return car

    def _still(self, what: str) -> r.Car:
        """The car, when it is not in a driving gear."""
        car = self.car["car"]
        if car.mode == "driving":
            raise ToolError("wrong_state", f"{what} is not possible while driving", "Use shift_gear to P first.")
        return car

    def _braked(self, what: str) -> r.Car:
        """The car, when its brake is pressed; then it stands."""
        car = self.car["car"]
        if not car.brake:
            raise ToolError("wrong_state", f"{what} needs the brake pressed", "Use press_brake first.")
        return car

    def _owned(self, what: str) -> r.Car:
        """The car, when its active driver is the owner."""
        car = self.car["car"]
        role = self.profiles[car.profile_id].role
        if role != "owner":
            raise ToolError("denied", f"only the owner may {what}; the active driver is {role}", "Let the owner do it.")
        return car

    def _fit_to_drive(self) -> None:
        """Raises ToolError unless doors are closed, belts fastened and the battery is not empty."""
        car = self.car["car"]
        for door in self.doors.values():
            if door.open:
                raise ToolError("wrong_state", f"door {door.door_id} is open", "Use close_door first.")
        for seat in self.seats.values():
            if seat.occupied and not seat.belted:
                raise ToolError("wrong_state", f"the belt of {seat.seat_id} is not fastened", "Use fasten_seat_belt first.")
        if car.battery == 0:
            raise ToolError("insufficient", "the battery is empty", "Use start_charge after stop_engine.")

    def _leg(self, x: int, y: int, destination_id: str) -> int:
        return distance(x, y, self.destinations[destination_id])

    def _ready_to_move(self, speed: int) -> r.Car:
        """The car, when it may go at this speed: in D or R, brakes released, within its driver's limit."""
        car = self._running("driving")
        if car.gear not in ("R", "D"):
            raise ToolError("wrong_state", f"the car is in {car.gear}", "Use shift_gear to D or R first.")
        if car.brake:
            raise ToolError("wrong_state", "the brake is pressed", "Use release_brake first.")
        if car.parking_brake:
            raise ToolError("wrong_state", "the parking brake is engaged", "Use set_parking_brake first.")
        limit = self.profiles[car.profile_id].max_speed
        if speed > limit:
            raise ToolError("denied", f"the driver's limit is {limit} km/h", f"Give {limit} or less.")
        return car

    def _charging(self, charge_id: str) -> r.Charge:
        row = existing(self.charges, charge_id, "charge", "list_charges")
        if row.status != "charging":
            raise ToolError("wrong_state", "the charge is finished", "Use start_charge for another one.")
        return row

    # -- the way ahead ---------------------------------------------------------------------------

    def _per_100m(self, speed: int) -> int:
        """Wh for 100 m at this speed, as the car is now."""
        soft = sum(tire.kpa < tire.wanted - 20 for tire in self.tires.values())
        return consumption(speed, self.climate["climate"].on, soft)

    def _away(self, destination_id: str) -> int:
        car = self.car["car"]
        return distance(car.x, car.y, self.destinations[destination_id])

    def _left(self, stops: Iterable[str]) -> int:
        """The way over all stops from where the car is, in 100 m."""
        x, y, total = self.car["car"].x, self.car["car"].y, 0
        for stop in stops:
            place = self.destinations[stop]
            total += distance(x, y, place)
            x, y = place.x, place.y
        return total

    def _route(self) -> tuple[str, ...]:
        """The stops ahead; the last is the goal. Raises ToolError when there is no navigation."""
        stops = self.route["route"].stops
        if not stops:
            raise ToolError("wrong_state", "no navigation is active", "Use start_navigation first.")
        return stops

    def _route_shown(self, stops: tuple[str, ...]) -> t.RouteShown:
        left, car = self._left(stops), self.car["car"]
        enough = left * self._per_100m(car.speed or 80) <= car.battery
        return {"destination_id": stops[-1], "left_km": km(left), "stops": len(stops) - 1, "enough_energy": enough}

    # -- service ---------------------------------------------------------------------------------

    def _why_not(self, garage: r.Garage, day: dt.date, moved: str = "") -> ToolError | None:
        """Why a garage cannot take the car on a day; `moved` is the visit that would move there."""
        ahead = (day - self.now.date()).days
        if not 1 <= ahead <= 60:
            return ToolError("invalid_value", "visits are 1 to 60 days ahead", "Choose another day.")
        if day.weekday() == garage.weekday:
            return ToolError("conflict", "the garage is closed on that day", "next_service_day tells a free day.")
        taken = self.visits.where(lambda v: v.day == day.isoformat() and v.status == "booked" and v.service_visit_id != moved)
        if taken:
            return ToolError("conflict", "the car has a visit on that day already", "Choose another day.")
        if day.isoformat() in garage.full:
            return ToolError("conflict", "the garage has no slot on that day", "next_service_day tells a free day.")
        return None

    def _free_day(self, garage: r.Garage, after: dt.date) -> str:
        """The first day after another one on which the garage can take the car."""
        for ahead in range(1, 61):
            day = after + dt.timedelta(days=ahead)
            if self._why_not(garage, day) is None:
                return day.isoformat()
        raise ToolError("not_found", "the garage has no free day after that", "Ask for an earlier day.")

    def _slot(self, garage: r.Garage, day: str, moved: str = "") -> str:
        """The day, when the garage can take the car on it."""
        reason = self._why_not(garage, date_of(day), moved)
        if reason:
            raise reason
        return day

    def _price(self, garage: r.Garage, works: Iterable[t.Work]) -> int:
        return sum(PRICES[work] for work in works) * garage.level // 100

    def _booked(self, service_visit_id: str) -> r.Visit:
        row = existing(self.visits, service_visit_id, "service visit", "list_service_visits")
        if row.status != "booked":
            raise ToolError("wrong_state", f"the visit is {row.status}", "list_service_visits shows the booked ones.")
        return row

    # -- how rows are shown ----------------------------------------------------------------------

    def _destination_shown(self, row: r.Destination) -> t.DestinationShown:
        away = km(self._away(row.destination_id))
        return {"destination_id": row.destination_id, "name": row.name, "kind": row.kind, "distance_km": away}

    def _profile_shown(self, row: r.Profile) -> t.ProfileShown:
        return {
            "profile_id": row.profile_id,
            "role": row.role,
            "max_speed": row.max_speed,
            "temperature": row.temperature,
            "seat_position": row.seat_position,
            "active": self.car["car"].profile_id == row.profile_id,
        }

    def _climate_shown(self) -> t.ClimateShown:
        row = self.climate["climate"]
        return {"on": row.on, "temperature": row.temperature, "fan": row.fan, "flow": row.flow}


def door_shown(row: r.Door) -> t.DoorShown:
    return {"door_id": row.door_id, "place": row.place, "open": row.open, "locked": row.locked}


def window_shown(row: r.Window) -> t.WindowShown:
    return {"window_id": row.window_id, "place": row.place, "open_percent": row.percent}


def seat_shown(row: r.CarSeat) -> t.SeatShown:
    return {"seat_id": row.seat_id, "place": row.place, "occupied": row.occupied, "belt_fastened": row.belted}


def tire_shown(row: r.Tire) -> t.TireShown:
    return {"tire_id": row.tire_id, "place": row.place, "pressure": row.kpa, "wanted": row.wanted}


def key_shown(row: r.CarKey) -> t.KeyShown:
    return {"key_id": row.key_id, "profile_id": row.profile_id, "kind": row.kind, "active": row.active}


def trip_shown(row: r.Trip) -> t.TripShown:
    return {
        "trip_log_id": row.trip_log_id,
        "profile_id": row.profile_id,
        "day": row.day,
        "km": km(row.length),
        "kwh": kwh(row.wh),
        "purpose": row.purpose,
    }


def visit_shown(row: r.Visit) -> t.VisitRow:
    return {
        "service_visit_id": row.service_visit_id,
        "garage_id": row.garage_id,
        "day": row.day,
        "status": row.status,
        "price": money(row.cents),
    }
