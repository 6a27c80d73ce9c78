"""An electric car: engine, gears, brakes, doors, belts, climate, drivers and keys, navigation, charging, service.

    with environment(["vehicle"]).session(7) as session:
        session.call("find_driver_profile", {"name": "Jane Doe"})

The car is parked (engine off), ready (engine on, in P or N) or driving (in R or D); most actions are refused in the wrong
mode. It drives only along a navigation; distance costs energy, and the battery never goes below zero. A trip is logged when
the engine stops.

Left out: other traffic, time that passes, and position off the route.
"""

from __future__ import annotations

from tasks.servers import vehicle_rows as r
from tasks.servers import vehicle_types as t
from tasks.servers.lookup import existing, named, unused
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Date, Limit, date_of, money
from tasks.servers.vehicle_data import seed_rows
from tasks.servers.vehicle_rows import CRUISE_FROM, SUNROOF_UPTO, cost, km, kwh, toward
from tasks.servers.vehicle_state import (
    CarState,
    door_shown,
    key_shown,
    seat_shown,
    tire_shown,
    trip_shown,
    visit_shown,
    window_shown,
)
from tasks.servers.world import World


class Vehicle(CarState, Server):
    """The server; see the module's docstring."""

    name = "vehicle"
    title = "An electric car: driving, doors, climate, charging, service"

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

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- engine, gear, brakes, speed -------------------------------------------------------------

    @tool(read_only=True)
    def get_vehicle_status(self) -> t.VehicleShown:
        """Show the car's mode, gear, speed, battery, range at 80 km/h and odometer."""
        car = self.car["car"]
        return {
            "mode": car.mode,
            "gear": car.gear,
            "speed": car.speed,
            "battery_percent": car.percent,
            "range_km": car.battery // self._per_100m(80) // 10,
            "odometer_km": car.odometer // 10,
        }

    @tool(read_only=True)
    def get_vehicle_controls(self) -> t.ControlsShown:
        """Show brakes, cruise control speed (0 is off), lights and wipers."""
        car = self.car["car"]
        return {
            "brake_pressed": car.brake,
            "parking_brake": car.parking_brake,
            "cruise": car.cruise,
            "lights": car.lights,
            "wipers": car.wipers,
        }

    @tool()
    def start_engine(self, key_id: t.CarKeyId) -> t.EngineStarted:
        """Start the engine with an active key, with the brake pressed and no charge under way; its driver becomes active."""
        key = existing(self.keys, key_id, "car key", "list_car_keys")
        car = self._parked("starting")
        if not key.active:
            raise ToolError("denied", "this key is switched off", "list_car_keys shows the active keys.")
        if car.charge_id:
            raise ToolError("wrong_state", f"the car is plugged in for {car.charge_id}", "Use finish_charge first.")
        self._braked("starting the engine")
        if car.battery == 0:
            raise ToolError("insufficient", "the battery is empty", "Use start_charge first.")
        car = self.car.update("car", key_id=key_id, profile_id=key.profile_id, since=car.odometer, used=0)
        return {"mode": car.mode, "profile_id": car.profile_id}

    @tool()
    def stop_engine(self) -> t.EngineStopped:
        """Stop the engine in gear P; climate and wipers go off, and what was driven becomes a trip log."""
        car = self._running("stopping")
        if car.gear != "P":
            raise ToolError("wrong_state", f"the car is in {car.gear}", "Use shift_gear to P first.")
        stopped: t.EngineStopped = {"mode": "parked"}
        length, day = car.odometer - car.since, self.now.date().isoformat()
        if length:
            key = self.trips.fresh("tlog", car.odometer)
            self.trips.put(key, r.Trip(key, car.profile_id, day, length, car.used, "private"))
            stopped["trip_log_id"] = key
        self.climate.update("climate", on=False)
        lights = car.lights if car.lights == "parking" else "off"
        self.car.update("car", key_id="", wipers="off", lights=lights)
        return stopped

    @tool(idempotent=True)
    def press_brake(self) -> t.BrakeShown:
        """Press the brake pedal and hold it: the car stops and cruise control goes off."""
        car = self.car.update("car", brake=True, speed=0, cruise=0)
        return {"brake_pressed": car.brake, "speed": car.speed}

    @tool(idempotent=True)
    def release_brake(self) -> t.BrakeShown:
        """Let go of the brake pedal."""
        car = self.car.update("car", brake=False)
        return {"brake_pressed": car.brake, "speed": car.speed}

    @tool(idempotent=True)
    def set_parking_brake(self, engaged: t.Engaged) -> t.ParkingBrakeShown:
        """Engage the parking brake in a standing car, or let it go with the brake pressed."""
        car = self.car["car"]
        if engaged and car.speed:
            raise ToolError("wrong_state", f"the car moves at {car.speed} km/h", "Use press_brake first.")
        if car.parking_brake and not engaged:
            self._braked("letting the parking brake go")
        return {"parking_brake": self.car.update("car", parking_brake=engaged).parking_brake}

    @tool(idempotent=True)
    def shift_gear(self, gear: t.NewGear) -> t.GearShown:
        """Shift with the brake pressed and the engine on; D and R need closed doors and fastened belts."""
        self._running("shifting")
        self._braked("shifting")
        if gear in ("R", "D"):
            self._fit_to_drive()
        car = self.car.update("car", gear=gear)
        return {"gear": car.gear, "mode": car.mode}

    @tool(idempotent=True)
    def set_driving_speed(self, speed: t.Speed) -> t.SpeedShown:
        """Drive at a speed in D, or at most 20 in R, with both brakes released; cruise control goes off."""
        car = self._ready_to_move(int(speed))
        if car.gear == "R" and speed > 20:
            raise ToolError("invalid_value", "in reverse the car goes 20 km/h at most", "Give 20 or less.")
        car = self.car.update("car", speed=int(speed), cruise=0)
        return {"speed": car.speed, "cruise": car.cruise}

    @tool(idempotent=True)
    def set_cruise(self, speed: t.CruiseSpeed) -> t.SpeedShown:
        """Hold a speed by cruise control, in D at 30 km/h or more."""
        car = self._ready_to_move(int(speed))
        if car.gear != "D" or car.speed < CRUISE_FROM:
            raise ToolError("wrong_state", "cruise control needs D and 30 km/h", "Use set_driving_speed first.")
        car = self.car.update("car", speed=int(speed), cruise=int(speed))
        return {"speed": car.speed, "cruise": car.cruise}

    @tool()
    def cancel_cruise(self) -> t.SpeedShown:
        """Switch cruise control off; the car keeps its speed."""
        if not self.car["car"].cruise:
            raise ToolError("wrong_state", "cruise control is off", "Use set_cruise to switch it on.")
        car = self.car.update("car", cruise=0)
        return {"speed": car.speed, "cruise": car.cruise}

    @tool()
    def drive_distance(self, distance_km: t.Distance) -> t.Driven:
        """Drive some kilometers along the navigation at the car's speed; at its end the car stops."""
        stops, car = self._route(), self.car["car"]
        if car.gear != "D" or not car.speed:
            raise ToolError("wrong_state", "the car does not drive forward", "Use shift_gear to D and set_driving_speed first.")
        total = self._left(stops)
        length = min(round(distance_km * 10), total)
        used = length * self._per_100m(car.speed)
        if used > car.battery:
            reach = km(car.battery // self._per_100m(car.speed))
            raise ToolError("insufficient", f"the battery lasts for {reach} km at this speed", "Drive less far or slower.")
        x, y, rest = car.x, car.y, length
        while stops and rest >= (way := self._leg(x, y, stops[0])):
            place, rest, stops = self.destinations[stops[0]], rest - way, stops[1:]
            x, y = place.x, place.y
        if stops:
            x, y = toward(x, y, self.destinations[stops[0]], rest)
        moved = {"x": x, "y": y, "odometer": car.odometer + length, "battery": car.battery - used, "used": car.used + used}
        arrived = {} if stops else {"speed": 0, "cruise": 0}
        car = self.car.update("car", **moved, **arrived)
        self.route.put("route", r.Route(stops))
        return {"driven_km": km(length), "left_km": km(total - length), "battery_percent": car.percent}

    @tool(idempotent=True)
    def set_vehicle_lights(self, mode: t.Lights) -> t.LightsShown:
        """Set the headlights; low and high need the engine on, and none goes off while driving."""
        if mode in ("low", "high"):
            self._running(f"{mode} beam")
        elif mode == "off":
            self._still("switching the lights off")
        return {"lights": self.car.update("car", lights=mode).lights}

    @tool(idempotent=True)
    def set_wipers(self, mode: t.Wipers) -> t.WipersShown:
        """Set the wipers; they need the engine on."""
        if mode != "off":
            self._running("wiping")
        return {"wipers": self.car.update("car", wipers=mode).wipers}

    # -- doors, windows, seats -------------------------------------------------------------------

    @tool(read_only=True)
    def list_doors(self, limit: Limit = 5) -> list[t.DoorShown]:
        """List the doors: which are open and which are locked."""
        return [door_shown(row) for row in list(self.doors.values())[: int(limit)]]

    @tool(read_only=True)
    def find_door(self, place: t.WhichDoor) -> t.DoorShown:
        """Find a door by where it is."""
        return door_shown(self.doors.where(lambda d: d.place == place)[0])

    @tool()
    def open_door(self, door_id: t.DoorId) -> t.DoorState:
        """Open an unlocked door; not while driving."""
        door = existing(self.doors, door_id, "door", "list_doors")
        self._still("opening a door")
        if door.locked:
            raise ToolError("wrong_state", "the door is locked", "Use unlock_doors first.")
        return {"door_id": door_id, "open": self.doors.update(door_id, open=True).open}

    @tool(idempotent=True)
    def close_door(self, door_id: t.DoorId) -> t.DoorState:
        """Close a door."""
        existing(self.doors, door_id, "door", "list_doors")
        return {"door_id": door_id, "open": self.doors.update(door_id, open=False).open}

    @tool(idempotent=True)
    def lock_doors(self, door_ids: t.Doors) -> list[t.DoorLock]:
        """Lock doors that are closed."""
        for key in door_ids:
            if existing(self.doors, key, "door", "list_doors").open:
                raise ToolError("wrong_state", f"door {key} is open", "Use close_door first.")
        return [{"door_id": key, "locked": self.doors.update(key, locked=True).locked} for key in dict.fromkeys(door_ids)]

    @tool(idempotent=True)
    def unlock_doors(self, door_ids: t.Doors) -> list[t.DoorLock]:
        """Unlock doors; not while driving."""
        for key in door_ids:
            existing(self.doors, key, "door", "list_doors")
        self._still("unlocking")
        return [{"door_id": key, "locked": self.doors.update(key, locked=False).locked} for key in dict.fromkeys(door_ids)]

    @tool(read_only=True)
    def list_windows(self, limit: Limit = 5) -> list[t.WindowShown]:
        """List the windows and the sunroof, and how far each is open."""
        return [window_shown(row) for row in list(self.windows.values())[: int(limit)]]

    @tool(read_only=True)
    def find_window(self, place: t.WhichWindow) -> t.WindowShown:
        """Find a window by where it is."""
        return window_shown(self.windows.where(lambda w: w.place == place)[0])

    @tool(idempotent=True)
    def set_window(self, window_id: t.WindowId, open_percent: t.Opening) -> t.WindowState:
        """Open or close a window; parked cars only close them, and the sunroof stays as it is above 100 km/h."""
        window = existing(self.windows, window_id, "window", "list_windows")
        if open_percent > 0:
            self._running("opening a window")
        if window.place == "sunroof" and self.car["car"].speed > SUNROOF_UPTO:
            raise ToolError("wrong_state", f"the car is faster than {SUNROOF_UPTO} km/h", "Use set_driving_speed first.")
        return {"window_id": window_id, "open_percent": self.windows.update(window_id, percent=int(open_percent)).percent}

    @tool(read_only=True)
    def list_car_seats(self, limit: Limit = 5) -> list[t.SeatShown]:
        """List the seats: which are taken and which belts are fastened."""
        return [seat_shown(row) for row in list(self.seats.values())[: int(limit)]]

    @tool(read_only=True)
    def find_car_seat(self, place: t.WhichSeat) -> t.SeatShown:
        """Find a seat by where it is."""
        return seat_shown(self.seats.where(lambda s: s.place == place)[0])

    @tool(idempotent=True)
    def fasten_seat_belt(self, seat_id: t.CarSeatId) -> t.BeltState:
        """Fasten the belt of a seat in which somebody sits."""
        if not existing(self.seats, seat_id, "seat", "list_car_seats").occupied:
            raise ToolError("wrong_state", "nobody sits there", "list_car_seats shows the occupied seats.")
        return {"seat_id": seat_id, "belt_fastened": self.seats.update(seat_id, belted=True).belted}

    @tool(idempotent=True)
    def unfasten_seat_belt(self, seat_id: t.CarSeatId) -> t.BeltState:
        """Unfasten the belt of a seat; not while driving."""
        existing(self.seats, seat_id, "seat", "list_car_seats")
        self._still("unfastening a belt")
        return {"seat_id": seat_id, "belt_fastened": self.seats.update(seat_id, belted=False).belted}

    # -- climate and tires -----------------------------------------------------------------------

    @tool(read_only=True)
    def get_climate(self) -> t.ClimateShown:
        """Show the climate control."""
        return self._climate_shown()

    @tool(idempotent=True)
    def set_climate(self, settings: t.ClimateSettings) -> t.ClimateShown:
        """Switch the climate control on with these settings; the engine must be on, or the car plugged in."""
        if not self.car["car"].charge_id:
            self._running("climate control")
        old = self.climate["climate"]
        new = r.Climate(True, int(settings["temperature"]), int(settings.get("fan", old.fan)), settings.get("flow", old.flow))
        self.climate.put("climate", new)
        return self._climate_shown()

    @tool(idempotent=True)
    def turn_off_climate(self) -> t.ClimateShown:
        """Switch the climate control off."""
        self.climate.update("climate", on=False)
        return self._climate_shown()

    @tool(read_only=True)
    def list_tires(self, only_low: t.OnlyLow = False, limit: Limit = 5) -> list[t.TireShown]:
        """List the tires with their pressure and the wanted one in kPa, all or only those that are too low."""
        rows = self.tires.where(lambda row: not only_low or row.kpa < row.wanted)
        return [tire_shown(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_tire(self, place: t.WhichTire) -> t.TireShown:
        """Find a tire by where it is."""
        return tire_shown(self.tires.where(lambda row: row.place == place)[0])

    @tool(idempotent=True)
    def inflate_tire(self, tire_id: t.TireId, pressure: t.Pressure) -> t.TireState:
        """Bring a tire to a pressure; the engine must be off."""
        tire = existing(self.tires, tire_id, "tire", "list_tires")
        self._parked("inflating")
        if pressure > tire.wanted + 40:
            raise ToolError("invalid_value", f"{tire.wanted + 40} kPa is the most for it", "Give a lower pressure.")
        return {"tire_id": tire_id, "pressure": self.tires.update(tire_id, kpa=int(pressure)).kpa}

    # -- drivers and keys ------------------------------------------------------------------------

    @tool(read_only=True)
    def list_driver_profiles(self, limit: Limit = 5) -> list[t.ProfileRow]:
        """List the drivers."""
        rows = list(self.profiles.values())[: int(limit)]
        return [{"profile_id": row.profile_id, "name": row.name, "role": row.role} for row in rows]

    @tool(read_only=True)
    def find_driver_profile(self, name: t.KnownName) -> t.ProfileRow:
        """Find a driver by the full name."""
        row = named(self.profiles.values(), name, "driver", "list_driver_profiles")
        return {"profile_id": row.profile_id, "name": row.name, "role": row.role}

    @tool(read_only=True)
    def get_driver_profile(self, profile_id: t.ProfileId) -> t.ProfileShown:
        """Show a driver's role, speed limit, preferences and whether this driver is active."""
        return self._profile_shown(existing(self.profiles, profile_id, "driver profile", "list_driver_profiles"))

    @tool(idempotent=True)
    def activate_driver_profile(self, profile_id: t.ProfileId) -> t.ProfileShown:
        """Make a driver with an active key the current one, with the engine off; a valet cannot do it."""
        row = existing(self.profiles, profile_id, "driver profile", "list_driver_profiles")
        car = self._parked("changing the driver")
        if car.profile_id != profile_id and self.profiles[car.profile_id].role == "valet":
            raise ToolError("denied", "a valet cannot change the driver", "Use start_engine with another driver's key.")
        if not self.keys.where(lambda k: k.profile_id == profile_id and k.active):
            raise ToolError("denied", "this driver has no active key", "The owner can use pair_car_key.")
        self.car.update("car", profile_id=profile_id)
        self.climate.update("climate", temperature=row.temperature)
        return self._profile_shown(row)

    @tool()
    def create_driver_profile(self, name: t.NewName, settings: t.ProfileSettings) -> t.ProfileDone:
        """Add a family driver; only the owner can, with the engine off."""
        self._owned("add drivers")
        self._parked("adding a driver")
        name = unused(self.profiles.values(), name, "driver")
        key = self.profiles.fresh("drv", name)
        speed, seat = int(settings["max_speed"]), int(settings.get("seat_position", 5))
        self.profiles.put(key, r.Profile(key, name, "family", speed, int(settings["temperature"]), seat))
        return {"profile_id": key, "max_speed": speed}

    @tool(idempotent=True)
    def set_profile_speed_limit(self, profile_id: t.ProfileId, max_speed: t.TopSpeed) -> t.ProfileDone:
        """Limit how fast a driver may go; only the owner can, and the owner has no limit."""
        row = existing(self.profiles, profile_id, "driver profile", "list_driver_profiles")
        self._owned("limit drivers")
        if row.role == "owner":
            raise ToolError("denied", "the owner has no limit", "Choose another driver.")
        return {"profile_id": profile_id, "max_speed": self.profiles.update(profile_id, max_speed=int(max_speed)).max_speed}

    @tool(destructive=True)
    def delete_driver_profile(self, profile_id: t.ProfileId) -> t.ProfileGone:
        """Delete a driver without trips, with all keys; only the owner can, and the owner stays."""
        row = existing(self.profiles, profile_id, "driver profile", "list_driver_profiles")
        car = self._owned("delete drivers")
        if row.role == "owner" or car.profile_id == profile_id:
            raise ToolError("denied", "the owner stays", "Choose another driver.")
        if self.trips.where(lambda trip: trip.profile_id == profile_id):
            raise ToolError("conflict", "this driver has trip logs", "Use set_car_key to switch the keys off instead.")
        keys = self.keys.where(lambda k: k.profile_id == profile_id)
        for key in keys:
            self.keys.remove(key.key_id)
        self.profiles.remove(profile_id)
        return {"profile_id": profile_id, "keys_removed": len(keys)}

    @tool(read_only=True)
    def list_car_keys(self, profile_id: t.ProfileId, limit: Limit = 5) -> list[t.KeyShown]:
        """List the keys of a driver."""
        existing(self.profiles, profile_id, "driver profile", "list_driver_profiles")
        return [key_shown(row) for row in self.keys.where(lambda k: k.profile_id == profile_id)[: int(limit)]]

    @tool()
    def pair_car_key(self, profile_id: t.ProfileId, kind: t.NewKeyKind) -> t.KeyShown:
        """Give a driver another key, at most one of each kind; only the owner can, with the engine off."""
        existing(self.profiles, profile_id, "driver profile", "list_driver_profiles")
        self._owned("pair keys")
        self._parked("pairing a key")
        if self.keys.where(lambda k: k.profile_id == profile_id and k.kind == kind):
            raise ToolError("conflict", f"this driver has a {kind} key already", "list_car_keys shows the keys.")
        key = self.keys.fresh("ckey", profile_id, kind)
        return key_shown(self.keys.put(key, r.CarKey(key, profile_id, kind, True)))

    @tool(idempotent=True)
    def set_car_key(self, key_id: t.CarKeyId, active: t.SwitchedOn) -> t.KeyState:
        """Switch a key on or off; only the owner can, and not the key that is in use."""
        existing(self.keys, key_id, "car key", "list_car_keys")
        if self._owned("switch keys").key_id == key_id:
            raise ToolError("wrong_state", "the engine runs with this key", "Use stop_engine first.")
        owners = self.keys.where(lambda k: k.active and self.profiles[k.profile_id].role == "owner")
        if not active and [k.key_id for k in owners] == [key_id]:
            raise ToolError("denied", "it is the owner's last active key", "Use pair_car_key first.")
        return {"key_id": key_id, "active": self.keys.update(key_id, active=active).active}

    # -- navigation ------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_destinations(self, kind: t.AnyPlaceKind = "any", limit: Limit = 5) -> list[t.DestinationShown]:
        """List known destinations, the nearest first."""
        rows = self.destinations.where(lambda row: kind in ("any", row.kind))
        rows = sorted(rows, key=lambda row: (self._away(row.destination_id), row.name))
        return [self._destination_shown(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_destination(self, name: t.KnownName) -> t.DestinationShown:
        """Find a destination by its name."""
        return self._destination_shown(named(self.destinations.values(), name, "destination", "list_destinations"))

    @tool(idempotent=True)
    def start_navigation(self, destination_id: t.DestinationId, via: t.Via = None) -> t.RouteShown:
        """Start the navigation to a destination, over stops if wanted; it replaces any other."""
        stops = (*(via or ()), destination_id)
        for stop in stops:
            existing(self.destinations, stop, "destination", "list_destinations")
        if len(set(stops)) < len(stops):
            raise ToolError("invalid_value", "a stop comes twice", "Give each stop once.")
        if not self._away(stops[0]):
            raise ToolError("conflict", "the car is there already", "Choose another destination.")
        return self._route_shown(self.route.put("route", r.Route(stops)).stops)

    @tool(read_only=True)
    def get_navigation(self) -> t.RouteShown:
        """Show the active navigation: goal, distance left, stops on the way, and whether the battery lasts."""
        return self._route_shown(self._route())

    @tool()
    def cancel_navigation(self) -> t.RouteEnded:
        """End the active navigation."""
        goal = self._route()[-1]
        self.route.put("route", r.Route(()))
        return {"destination_id": goal, "cancelled": True}

    # -- charging --------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_charge_stations(self, limit: Limit = 5) -> list[t.StationRow]:
        """List the charge stations, the nearest first."""
        rows = sorted(self.stations.values(), key=lambda row: (self._away(row.destination_id), row.name))
        return [
            {
                "station_id": row.station_id,
                "name": row.name,
                "distance_km": km(self._away(row.destination_id)),
                "free_plugs": row.free,
            }
            for row in rows[: int(limit)]
        ]

    @tool(read_only=True)
    def find_charge_station(self, name: t.KnownName) -> t.StationShown:
        """Find a charge station by name: at which destination it is, power, price and free plugs."""
        row = named(self.stations.values(), name, "charge station", "list_charge_stations")
        return {
            "station_id": row.station_id,
            "name": row.name,
            "destination_id": row.destination_id,
            "power_kw": row.kw,
            "price_per_kwh": money(row.price),
            "free_plugs": row.free,
        }

    @tool()
    def start_charge(self, station_id: t.StationId) -> t.ChargeState:
        """Plug the parked car in at a station where it stands; continue_charge then fills the battery."""
        row = existing(self.stations, station_id, "charge station", "list_charge_stations")
        car = self._parked("charging")
        if car.charge_id:
            raise ToolError("wrong_state", f"the car is plugged in for {car.charge_id}", "Use finish_charge first.")
        if self._away(row.destination_id):
            away = km(self._away(row.destination_id))
            raise ToolError("wrong_state", f"the station is {away} km away", f"Drive to {row.destination_id} first.")
        if not row.free:
            raise ToolError("insufficient", "no plug is free", "Choose another station.")
        key = self.charges.fresh("chg", station_id, car.odometer, car.battery)
        self.charges.put(key, r.Charge(key, station_id, self.now.date().isoformat(), 0, 0, "charging"))
        self.stations.update(station_id, free=row.free - 1)
        self.car.update("car", charge_id=key)
        return {"charge_id": key, "battery_percent": car.percent, "kwh": 0.0}

    @tool()
    def continue_charge(self, charge_id: t.ChargeId, minutes: t.Minutes) -> t.ChargeState:
        """Charge for some minutes, at most up to the charge limit."""
        row, car = self._charging(charge_id), self.car["car"]
        station = self.stations[row.station_id]
        missing = car.capacity * car.charge_limit // 100 - car.battery
        if missing <= 0:
            raise ToolError("wrong_state", f"the limit of {car.charge_limit}% is reached", "Use set_charge_limit first.")
        wh = min(station.kw * 1000 * int(minutes) // 60, missing)
        row = self.charges.update(charge_id, wh=row.wh + wh, cents=cost(row.wh + wh, station.price))
        car = self.car.update("car", battery=car.battery + wh)
        return {"charge_id": charge_id, "battery_percent": car.percent, "kwh": kwh(row.wh)}

    @tool()
    def finish_charge(self, charge_id: t.ChargeId) -> t.ChargeDone:
        """Unplug the car; answers with the energy and its cost."""
        row = self._charging(charge_id)
        self.charges.update(charge_id, status="finished")
        self.stations.update(row.station_id, free=self.stations[row.station_id].free + 1)
        self.car.update("car", charge_id="")
        self.climate.update("climate", on=False)
        return {"charge_id": charge_id, "kwh": kwh(row.wh), "cost": money(row.cents)}

    @tool(idempotent=True)
    def set_charge_limit(self, limit_percent: t.Percent) -> t.LimitShown:
        """Set up to which percentage the battery is charged."""
        return {"limit_percent": self.car.update("car", charge_limit=int(limit_percent)).charge_limit}

    @tool(read_only=True)
    def list_charges(self, limit: Limit = 5) -> list[t.ChargeRow]:
        """List past and current charges, the latest first."""
        rows = sorted(self.charges.values(), key=lambda row: (row.day, row.charge_id), reverse=True)
        return [
            {"charge_id": row.charge_id, "day": row.day, "kwh": kwh(row.wh), "status": row.status} for row in rows[: int(limit)]
        ]

    @tool(read_only=True)
    def get_charge(self, charge_id: t.ChargeId) -> t.ChargeShown:
        """Show a charge: its station, day, energy and cost."""
        row = existing(self.charges, charge_id, "charge", "list_charges")
        return {
            "charge_id": row.charge_id,
            "station_id": row.station_id,
            "status": row.status,
            "day": row.day,
            "kwh": kwh(row.wh),
            "cost": money(row.cents),
        }

    # -- trips -----------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_trip_logs(self, purpose: t.AnyPurpose = "any", limit: Limit = 5) -> list[t.TripRow]:
        """List the logged trips, the latest first."""
        rows = self.trips.where(lambda row: purpose in ("any", row.purpose))
        rows = sorted(rows, key=lambda row: (row.day, row.trip_log_id), reverse=True)
        return [
            {"trip_log_id": row.trip_log_id, "day": row.day, "km": km(row.length), "purpose": row.purpose}
            for row in rows[: int(limit)]
        ]

    @tool(read_only=True)
    def get_trip_log(self, trip_log_id: t.TripLogId) -> t.TripShown:
        """Show a trip: driver, day, distance, energy and purpose."""
        return trip_shown(existing(self.trips, trip_log_id, "trip log", "list_trip_logs"))

    @tool(read_only=True)
    def find_longest_trip(self, profile_id: t.ProfileId) -> t.TripRow:
        """Find the longest trip of a driver."""
        existing(self.profiles, profile_id, "driver profile", "list_driver_profiles")
        rows = self.trips.where(lambda trip: trip.profile_id == profile_id)
        if not rows:
            raise ToolError("not_found", "this driver has no trips", "list_trip_logs shows the trips.")
        row = max(rows, key=lambda trip: (trip.length, trip.trip_log_id))
        return {"trip_log_id": row.trip_log_id, "day": row.day, "km": km(row.length), "purpose": row.purpose}

    @tool(read_only=True)
    def sum_trip_logs(self, profile_id: t.ProfileId, purpose: t.AnyPurpose = "any") -> t.TripSum:
        """Add up a driver's trips: how many, kilometers and energy."""
        existing(self.profiles, profile_id, "driver profile", "list_driver_profiles")
        rows = self.trips.where(lambda trip: trip.profile_id == profile_id and purpose in ("any", trip.purpose))
        return {
            "profile_id": profile_id,
            "trips": len(rows),
            "km": km(sum(row.length for row in rows)),
            "kwh": kwh(sum(row.wh for row in rows)),
        }

    @tool(idempotent=True)
    def set_trip_purpose(self, trip_log_id: t.TripLogId, purpose: t.NewPurpose) -> t.TripPurpose:
        """Note what a trip was for; only its driver and the owner can."""
        row = existing(self.trips, trip_log_id, "trip log", "list_trip_logs")
        if self.car["car"].profile_id != row.profile_id:
            self._owned("change other drivers' trips")
        return {"trip_log_id": trip_log_id, "purpose": self.trips.update(trip_log_id, purpose=purpose).purpose}

    # -- service ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_garages(self, work: t.AnyWork = "any", limit: Limit = 5) -> list[t.GarageRow]:
        """List the garages, all or those that do some work."""
        rows = self.garages.where(lambda row: work == "any" or work in row.works)[: int(limit)]
        return [{"garage_id": row.garage_id, "name": row.name, "works": list(row.works)} for row in rows]

    @tool(read_only=True)
    def find_garage(self, name: t.KnownName) -> t.GarageRow:
        """Find a garage by its name."""
        row = named(self.garages.values(), name, "garage", "list_garages")
        return {"garage_id": row.garage_id, "name": row.name, "works": list(row.works)}

    @tool(read_only=True)
    def next_service_day(self, garage_id: t.GarageId, after: t.After = None) -> t.GarageDay:
        """Tell the first day on which a garage can take the car, after today or after another day."""
        garage = existing(self.garages, garage_id, "garage", "list_garages")
        start = max(date_of(after), self.now.date()) if after else self.now.date()
        return {"garage_id": garage_id, "day": self._free_day(garage, start)}

    @tool()
    def book_service_visit(self, garage_id: t.GarageId, works: t.Works, day: t.FreeDay = None) -> t.VisitDone:
        """Book some work at a garage, on its first free day or another; the car has one visit a day."""
        garage = existing(self.garages, garage_id, "garage", "list_garages")
        wanted = tuple(sorted(set(works)))
        missing = [work for work in wanted if work not in garage.works]
        if missing:
            raise ToolError("invalid_value", f"the garage does no {missing[0]}", "list_garages shows who does.")
        day = self._free_day(garage, self.now.date()) if day is None else self._slot(garage, day)
        key, price = self.visits.fresh("svc", garage_id, day), self._price(garage, wanted)
        self.visits.put(key, r.Visit(key, garage_id, day, wanted, price, "booked"))
        return {"service_visit_id": key, "day": day, "price": money(price)}

    @tool(read_only=True)
    def list_service_visits(self, limit: Limit = 5) -> list[t.VisitRow]:
        """List the service visits, the latest first."""
        rows = sorted(self.visits.values(), key=lambda row: (row.day, row.service_visit_id), reverse=True)
        return [visit_shown(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_service_visit(self, garage_id: t.GarageId) -> t.VisitRow:
        """Find the latest visit at a garage, a booked one first."""
        existing(self.garages, garage_id, "garage", "list_garages")
        rows = self.visits.where(lambda row: row.garage_id == garage_id)
        if not rows:
            raise ToolError("not_found", "there is no visit at this garage", "list_service_visits shows the visits.")
        return visit_shown(max(rows, key=lambda row: (row.status == "booked", row.day, row.service_visit_id)))

    @tool(idempotent=True)
    def move_service_visit(self, service_visit_id: t.VisitId, day: Date) -> t.VisitDone:
        """Move a booked visit to another day."""
        row = self._booked(service_visit_id)
        self._slot(self.garages[row.garage_id], day, service_visit_id)
        row = self.visits.update(service_visit_id, day=day)
        return {"service_visit_id": service_visit_id, "day": row.day, "price": money(row.cents)}

    @tool(destructive=True)
    def cancel_service_visit(self, service_visit_id: t.VisitId) -> t.VisitGone:
        """Cancel a booked visit; on the day before it is too late."""
        row = self._booked(service_visit_id)
        if (date_of(row.day) - self.now.date()).days < 2:
            raise ToolError("denied", "it is too late to cancel", "Use move_service_visit instead.")
        return {"service_visit_id": service_visit_id, "status": self.visits.update(service_visit_id, status="cancelled").status}
