"""The retail chain server: the back office of a chain of branches: stock, transfers, suppliers, prices and promotions.

    with environment(["retail_chain"]).session(7) as session:
        session.call("list_branches", {})

Goods enter a branch by a received purchase order and leave it by a sale; a transfer takes them off one branch when it is sent
and puts them on another when it arrives. No stock is ever negative, and none is made on the way.

Left out: time that passes by itself; send, receive and sell are calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.lookup import existing, named
from tasks.servers.session import Server
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Amount, Date, Limit, cents, date_of, identifier, money
from tasks.servers.world import World, words

BranchId = identifier("branch", "bra")
ArticleId = identifier("article", "art")
SupplierId = identifier("supplier", "sup")
TransferId = identifier("stock_transfer", "trf")
PurchaseId = identifier("purchase_order", "po")
PromotionId = identifier("promotion", "promo")

Pieces = Annotated[int, Field(ge=1, le=500, description="How many pieces.")]
KnownName = Annotated[str, Field(min_length=1, max_length=60, description="The full name; case does not matter.")]
TransferStatus = Literal["sent", "received", "returned"]
PurchaseStatus = Literal["ordered", "received", "cancelled"]

ARTICLES = words(
    """Anvil Basket Candle Doormat Easel Funnel Globe Hanger Inkwell Jug Kettle Ladder Mug Napkin Oar Pitcher Quilt Rug Shelf
    Teapot Urn Vase Whisk Apron Broom Clock Dustpan Envelope Flask Goblet Hook Iron Jar Knife Lamp Mirror Notebook Oven Pillow
    Rake Saucer Tray Umbrella Wok Blanket Cushion Drawer Fan"""
)
STYLES = words(
    """Amber Birch Coral Denim Ebony Flax Granite Heather Ivory Jade Khaki Linen Maroon Navy Ochre Pearl Quartz Rust Slate Teal
    Umber Violet Walnut Zinc Bronze Cedar Dove Emerald"""
)
SUPPLIERS = words(
    """Abbot Barlow Cutler Draper Ellery Fletcher Garner Hooper Ingram Joiner Keeler Lorimer Mercer Nailor Ostler Palmer
    Quarrier Roper Sawyer Tanner Usher Vintner Wainwright Yeoman Arkwright Bowyer Chandler Dyer Falconer Glover Hayward"""
)


@dataclass(frozen=True, slots=True)
class Branch:
    branch_id: str
    name: str
    manager: str
    open: bool = True


@dataclass(frozen=True, slots=True)
class Article:
    article_id: str
    name: str
    supplier_id: str
    cost: int
    price: int


@dataclass(frozen=True, slots=True)
class Stock:
    """Of one article in one branch; the key is `branch/article`. Below `minimum` it is low."""

    branch_id: str
    article_id: str
    pieces: int
    minimum: int


@dataclass(frozen=True, slots=True)
class Supplier:
    supplier_id: str
    name: str
    days: int
    smallest: int


@dataclass(frozen=True, slots=True)
class Transfer:
    transfer_id: str
    article_id: str
    source: str
    target: str
    pieces: int
    status: TransferStatus


@dataclass(frozen=True, slots=True)
class Line:
    article_id: str
    pieces: int
    cost: int


@dataclass(frozen=True, slots=True)
class Purchase:
    purchase_id: str
    supplier_id: str
    branch_id: str
    lines: tuple[Line, ...]
    status: PurchaseStatus
    due: str

    @property
    def cents(self) -> int:
        return sum(line.pieces * line.cost for line in self.lines)


@dataclass(frozen=True, slots=True)
class Promotion:
    promotion_id: str
    article_id: str
    percent: int
    until: str
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Till:
    """A branch's sales in this session: pieces by nothing else than money, in cents."""

    branch_id: str
    sales: int = 0
    pieces: int = 0


class BranchShown(TypedDict):
    branch_id: BranchId
    name: str
    manager: str
    open: bool


class BranchDone(TypedDict):
    branch_id: BranchId
    open: bool


class ArticleShown(TypedDict):
    article_id: ArticleId
    name: str
    price: float
    supplier_id: SupplierId


class StockShown(TypedDict):
    branch_id: BranchId
    article_id: ArticleId
    pieces: int
    minimum: int


class SupplierShown(TypedDict):
    supplier_id: SupplierId
    name: str
    days: int
    smallest: float


class TransferShown(TypedDict):
    transfer_id: TransferId
    article_id: ArticleId
    target_id: BranchId
    pieces: int
    status: TransferStatus


class TransferDone(TypedDict):
    transfer_id: TransferId
    status: TransferStatus
    pieces: int


class PurchaseShown(TypedDict):
    purchase_id: PurchaseId
    supplier_id: SupplierId
    branch_id: BranchId
    total: float
    due: str
    status: PurchaseStatus


class PurchaseDone(TypedDict):
    purchase_id: PurchaseId
    total: float
    status: PurchaseStatus


class PriceDone(TypedDict):
    article_id: ArticleId
    price: float


class PromotionShown(TypedDict):
    promotion_id: PromotionId
    article_id: ArticleId
    percent: int
    until: str


class PromotionDone(TypedDict):
    promotion_id: PromotionId
    price: float


class Sold(TypedDict):
    article_id: ArticleId
    paid: float
    left: int


class Sales(TypedDict):
    branch_id: BranchId
    pieces: int
    sales: float


class Order(TypedDict):
    """One article of a purchase order."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    article_id: ArticleId
    pieces: Pieces


class RetailChain(Server):
    """The back office of one chain."""

    name = "retail_chain"
    title = "Branches, stock, suppliers, prices and promotions of a chain."

    branches: Table[Branch]
    articles: Table[Article]
    stock: Table[Stock]
    suppliers: Table[Supplier]
    transfers: Table[Transfer]
    purchases: Table[Purchase]
    promotions: Table[Promotion]
    tills: Table[Till]

    @classmethod
    def seed(cls, world: World) -> Seed:
        people = world.people()
        cities = list(dict.fromkeys(world.city() for _ in range(12)))[:6]
        branches = {
            key: Branch(key, city, people[n].name, n != 4)
            for n, (key, city) in enumerate(zip(world.ids("bra", 6), cities, strict=False))
        }
        suppliers = {
            key: Supplier(key, f"{name} {world.choice(('Trading', 'Wholesale', 'Imports'))}", world.rng.randint(2, 14), 5000)
            for key, name in zip(world.ids("sup", 5), world.picks(SUPPLIERS, 5), strict=False)
        }
        names = [
            f"{style} {thing}" for style, thing in zip(world.picks(STYLES, 4) * 3, world.picks(ARTICLES, 12), strict=False)
        ]
        articles = {}
        for key, name in zip(world.ids("art", len(names)), names, strict=False):
            cost = world.amount(3, 40)
            articles[key] = Article(key, name, world.choice(list(suppliers)), cost, cost * 2 - 1)
        stock = {}
        for branch in branches:
            for article in articles:
                if world.rng.random() < 0.75:
                    row = Stock(branch, article, world.rng.choice((0, 2, 5, 8, 13, 20, 34)), world.rng.choice((3, 5, 10)))
                    stock[f"{branch}/{article}"] = row
        transfers = {}
        for n, key in enumerate(world.ids("trf", 5)):
            source, target = world.rng.sample(list(branches), 2)
            status: TransferStatus = ("sent", "sent", "sent", "received", "returned")[n]
            transfers[key] = Transfer(key, world.choice(list(articles)), source, target, world.rng.randint(2, 12), status)
        purchases = {}
        for n, key in enumerate(world.ids("po", 5)):
            supplier = world.choice(list(suppliers))
            some = [a for a in articles.values() if a.supplier_id == supplier][:2] or [next(iter(articles.values()))]
            lines = tuple(Line(a.article_id, world.rng.randint(10, 60), a.cost) for a in some)
            state: PurchaseStatus = ("ordered", "ordered", "ordered", "received", "cancelled")[n]
            purchases[key] = Purchase(key, some[0].supplier_id, world.choice(list(branches)), lines, state, world.day(1, 14))
        promotions = {
            key: Promotion(key, article, world.rng.choice((10, 15, 20, 30)), world.day(2, 30))
            for key, article in zip(world.ids("promo", 3), world.rng.sample(list(articles), 3), strict=True)
        }
        return {
            "branches": branches,
            "articles": articles,
            "stock": stock,
            "suppliers": suppliers,
            "transfers": transfers,
            "purchases": purchases,
            "promotions": promotions,
            "tills": {branch: Till(branch) for branch in branches},
        }

    # -- what there is -----------------------------------------------------------------------------

    @tool(read_only=True)
    def find_branch(self, name: KnownName) -> BranchShown:
        """Finds a branch by its city."""
        return _branch_shown(named(self.branches.values(), name, "branch", "list_branches"))

    @tool(read_only=True)
    def list_branches(self, limit: Limit = 5) -> list[BranchShown]:
        """Lists the chain's branches."""
        return [_branch_shown(row) for row in self.branches.values()][: int(limit)]

    @tool(read_only=True)
    def find_article(self, name: KnownName) -> ArticleShown:
        """Finds an article by its name, with its shelf price without promotions."""
        return _article_shown(named(self.articles.values(), name, "article", "list_articles"))

    @tool(read_only=True)
    def list_articles(self, limit: Limit = 5) -> list[ArticleShown]:
        """Lists the articles that the chain sells."""
        return [_article_shown(row) for row in self.articles.values()][: int(limit)]

    @tool(read_only=True)
    def find_supplier(self, name: KnownName) -> SupplierShown:
        """Finds a supplier by name: days until delivery, smallest order."""
        return _supplier_shown(named(self.suppliers.values(), name, "supplier", "list_suppliers"))

    @tool(read_only=True)
    def list_suppliers(self, limit: Limit = 5) -> list[SupplierShown]:
        """Lists the chain's suppliers."""
        return [_supplier_shown(row) for row in self.suppliers.values()][: int(limit)]

    @tool(read_only=True)
    def get_branch_stock(self, branch_id: BranchId, article_id: ArticleId) -> StockShown:
        """How many pieces of an article a branch has."""
        self._branch(branch_id)
        self._article(article_id)
        return _stock_shown(self._stock(branch_id, article_id))

    @tool(read_only=True)
    def list_low_stock(self, branch_id: BranchId, limit: Limit = 5) -> list[StockShown]:
        """Lists articles of which a branch has less than its minimum."""
        self._branch(branch_id)
        rows = self.stock.where(lambda r: r.branch_id == branch_id and r.pieces < r.minimum)
        return [_stock_shown(row) for row in rows[: int(limit)]]

    @tool(read_only=True)
    def find_best_stocked(self, article_id: ArticleId) -> StockShown:
        """The open branch that has most pieces of an article."""
        self._article(article_id)
        rows = self.stock.where(lambda r: r.article_id == article_id and self.branches[r.branch_id].open)
        if not rows:
            raise ToolError("not_found", "no open branch has this article", "list_articles shows others.")
        return _stock_shown(max(rows, key=lambda r: (r.pieces, r.branch_id)))

    @tool(idempotent=True)
    def set_minimum_stock(
        self,
        branch_id: BranchId,
        article_id: ArticleId,
        pieces: Annotated[int, Field(ge=0, le=200, description="The minimum.")],
    ) -> StockShown:
        """Sets the number of pieces below which a branch's stock is low."""
        self._branch(branch_id)
        self._article(article_id)
        row = self._stock(branch_id, article_id)
        return _stock_shown(self.stock.put(f"{branch_id}/{article_id}", Stock(branch_id, article_id, row.pieces, int(pieces))))

    # -- branches ----------------------------------------------------------------------------------

    @tool()
    def close_branch(self, branch_id: BranchId) -> BranchDone:
        """Closes a branch to which nothing is on its way."""
        self._open(branch_id)
        coming = [t.transfer_id for t in self.transfers.values() if t.status == "sent" and t.target == branch_id]
        coming += [p.purchase_id for p in self.purchases.values() if p.status == "ordered" and p.branch_id == branch_id]
        if coming:
            raise ToolError("wrong_state", f"{coming[0]} is on its way to this branch", "Receive, return or cancel it first.")
        self.branches.update(branch_id, open=False)
        return {"branch_id": branch_id, "open": False}

    @tool()
    def reopen_branch(self, branch_id: BranchId) -> BranchDone:
        """Opens a closed branch again."""
        if self._branch(branch_id).open:
            raise ToolError("wrong_state", "this branch is open", "Nothing is needed.")
        self.branches.update(branch_id, open=True)
        return {"branch_id": branch_id, "open": True}

    @tool()
    def sell_article(self, branch_id: BranchId, article_id: ArticleId, pieces: Pieces = 1) -> Sold:
        """Sells pieces over the counter of an open branch, at today's price."""
        self._open(branch_id)
        article = self._article(article_id)
        left = self._take(branch_id, article_id, int(pieces))
        paid = self._price(article) * int(pieces)
        till = self.tills[branch_id]
        self.tills.update(branch_id, sales=till.sales + paid, pieces=till.pieces + int(pieces))
        return {"article_id": article_id, "paid": money(paid), "left": left}

    @tool(read_only=True)
    def get_branch_sales(self, branch_id: BranchId) -> Sales:
        """What a branch has sold today."""
        self._branch(branch_id)
        till = self.tills[branch_id]
        return {"branch_id": branch_id, "pieces": till.pieces, "sales": money(till.sales)}

    # -- transfers ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_stock_transfers(self, branch_id: BranchId, limit: Limit = 5) -> list[TransferShown]:
        """Lists goods on their way to a branch."""
        self._branch(branch_id)
        rows = self.transfers.where(lambda t: t.target == branch_id and t.status == "sent")
        return [_transfer_shown(row) for row in rows[: int(limit)]]

    @tool()
    def send_stock(self, source_id: BranchId, target_id: BranchId, article_id: ArticleId, pieces: Pieces) -> TransferDone:
        """Sends pieces from one branch to another open one; they arrive with receive_stock."""
        self._branch(source_id)
        self._open(target_id)
        self._article(article_id)
        if source_id == target_id:
            raise ToolError("invalid_value", "source and target are the same branch", "Give two different branches.")
        self._take(source_id, article_id, int(pieces))
        key = self.transfers.fresh("trf", source_id, target_id, article_id, int(pieces))
        self.transfers.put(key, Transfer(key, article_id, source_id, target_id, int(pieces), "sent"))
        return {"transfer_id": key, "status": "sent", "pieces": int(pieces)}

    @tool()
    def receive_stock(self, transfer_id: TransferId) -> TransferDone:
        """Takes in goods that were sent from another branch."""
        row = self._transfer(transfer_id)
        self._add(row.target, row.article_id, row.pieces)
        self.transfers.update(transfer_id, status="received")
        return {"transfer_id": transfer_id, "status": "received", "pieces": row.pieces}

    @tool()
    def return_stock(self, transfer_id: TransferId) -> TransferDone:
        """Sends goods that are on their way back to where they came from."""
        row = self._transfer(transfer_id)
        self._add(row.source, row.article_id, row.pieces)
        self.transfers.update(transfer_id, status="returned")
        return {"transfer_id": transfer_id, "status": "returned", "pieces": row.pieces}

    # -- purchases ---------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_purchase_orders(
        self, status: Literal["any", "ordered", "received", "cancelled"] = "ordered", limit: Limit = 5
    ) -> list[PurchaseShown]:
        """Lists purchase orders, open ones if not told otherwise."""
        return [_purchase_shown(p) for p in self.purchases.values() if status in ("any", p.status)][: int(limit)]

    @tool()
    def order_supplies(
        self,
        supplier_id: SupplierId,
        branch_id: BranchId,
        orders: Annotated[list[Order], Field(min_length=1, max_length=6, description="What to order.")],
    ) -> PurchaseDone:
        """Orders articles from their supplier for an open branch."""
        supplier = existing(self.suppliers, supplier_id, "supplier", "list_suppliers")
        self._open(branch_id)
        lines = []
        for order in orders:
            article = self._article(order["article_id"])
            if article.supplier_id != supplier_id:
                raise ToolError("conflict", f"{supplier.name} does not deliver {article.name}", f"Ask {article.supplier_id}.")
            lines.append(Line(article.article_id, int(order["pieces"]), article.cost))
        if len({line.article_id for line in lines}) < len(lines):
            raise ToolError("invalid_value", "an article is named twice", "Give every article one number.")
        total = sum(line.pieces * line.cost for line in lines)
        if total < supplier.smallest:
            raise ToolError("insufficient", f"{supplier.name} takes orders from {money(supplier.smallest)}", "Order more.")
        key = self.purchases.fresh("po", supplier_id, branch_id, [[line.article_id, line.pieces] for line in lines])
        self.purchases.put(key, Purchase(key, supplier_id, branch_id, tuple(lines), "ordered", f"{self.now:%Y-%m-%d}"))
        return {"purchase_id": key, "total": money(total), "status": "ordered"}

    @tool()
    def receive_supplies(self, purchase_id: PurchaseId) -> PurchaseDone:
        """Takes in the goods of a purchase order."""
        row = self._purchase(purchase_id)
        for line in row.lines:
            self._add(row.branch_id, line.article_id, line.pieces)
        self.purchases.update(purchase_id, status="received")
        return {"purchase_id": purchase_id, "total": money(row.cents), "status": "received"}

    @tool(destructive=True)
    def cancel_supplies(self, purchase_id: PurchaseId) -> PurchaseDone:
        """Cancels a purchase order that has not arrived."""
        row = self._purchase(purchase_id)
        self.purchases.update(purchase_id, status="cancelled")
        return {"purchase_id": purchase_id, "total": money(row.cents), "status": "cancelled"}

    # -- prices ------------------------------------------------------------------------------------

    @tool(idempotent=True)
    def set_shelf_price(self, article_id: ArticleId, price: Amount) -> PriceDone:
        """Changes an article's price in all branches; not below what it costs."""
        article, value = self._article(article_id), cents(price)
        if value < article.cost:
            raise ToolError("denied", f"{article.name} costs {money(article.cost)}", "Give that price or a higher one.")
        self.articles.update(article_id, price=value)
        return {"article_id": article_id, "price": money(value)}

    @tool(read_only=True)
    def get_shelf_price(self, article_id: ArticleId) -> PriceDone:
        """What an article costs today, promotions included."""
        return {"article_id": article_id, "price": money(self._price(self._article(article_id)))}

    @tool(read_only=True)
    def list_promotions(self, limit: Limit = 5) -> list[PromotionShown]:
        """Lists promotions that run today."""
        rows = [p for p in self.promotions.values() if self._runs(p)][: int(limit)]
        return [
            {"promotion_id": p.promotion_id, "article_id": p.article_id, "percent": p.percent, "until": p.until} for p in rows
        ]

    @tool()
    def start_promotion(
        self, article_id: ArticleId, percent: Annotated[int, Field(ge=5, le=50, description="Off the price.")], until: Date
    ) -> PromotionDone:
        """Sells an article cheaper until a day; one promotion an article, and never below cost."""
        article, last = self._article(article_id), date_of(until)
        if last <= self.now.date():
            raise ToolError("invalid_value", f"{until} is not in the future", "Give a later day.")
        if any(p.article_id == article_id and self._runs(p) for p in self.promotions.values()):
            raise ToolError("conflict", "this article has a promotion already", "Use end_promotion first.")
        price = article.price * (100 - int(percent)) // 100
        if price < article.cost:
            raise ToolError("denied", f"that is below its cost of {money(article.cost)}", "Take off less.")
        key = self.promotions.fresh("promo", article_id, int(percent), until)
        self.promotions.put(key, Promotion(key, article_id, int(percent), last.isoformat()))
        return {"promotion_id": key, "price": money(price)}

    @tool()
    def end_promotion(self, promotion_id: PromotionId) -> PromotionDone:
        """Ends a promotion before its day."""
        row = existing(self.promotions, promotion_id, "promotion", "list_promotions")
        if not self._runs(row):
            raise ToolError("wrong_state", f"{promotion_id} is over", "list_promotions shows those that run.")
        self.promotions.update(promotion_id, ended=True)
        return {"promotion_id": promotion_id, "price": money(self._price(self.articles[row.article_id]))}

    # -- helpers -----------------------------------------------------------------------------------

    def _branch(self, branch_id: str) -> Branch:
        return existing(self.branches, branch_id, "branch", "list_branches")

    def _open(self, branch_id: str) -> Branch:
        row = self._branch(branch_id)
        if not row.open:
            raise ToolError("wrong_state", f"the branch {row.name} is closed", "Use reopen_branch, or another branch.")
        return row

    def _article(self, article_id: str) -> Article:
        return existing(self.articles, article_id, "article", "list_articles")

    def _stock(self, branch_id: str, article_id: str) -> Stock:
        return self.stock.get(f"{branch_id}/{article_id}") or Stock(branch_id, article_id, 0, 0)

    def _take(self, branch_id: str, article_id: str, pieces: int) -> int:
        row = self._stock(branch_id, article_id)
        if row.pieces < pieces:
            raise ToolError("insufficient", f"{branch_id} has {row.pieces} pieces", "find_best_stocked shows who has more.")
        self.stock.put(f"{branch_id}/{article_id}", Stock(branch_id, article_id, row.pieces - pieces, row.minimum))
        return row.pieces - pieces

    def _add(self, branch_id: str, article_id: str, pieces: int) -> None:
        row = self._stock(branch_id, article_id)
        self.stock.put(f"{branch_id}/{article_id}", Stock(branch_id, article_id, row.pieces + pieces, row.minimum))

    def _transfer(self, transfer_id: str) -> Transfer:
        row = existing(self.transfers, transfer_id, "stock transfer", "list_stock_transfers")
        if row.status != "sent":
            raise ToolError("wrong_state", f"{transfer_id} is {row.status}", "list_stock_transfers shows what is on its way.")
        return row

    def _purchase(self, purchase_id: str) -> Purchase:
        row = existing(self.purchases, purchase_id, "purchase order", "list_purchase_orders")
        if row.status != "ordered":
            raise ToolError("wrong_state", f"{purchase_id} is {row.status}", "list_purchase_orders shows the open ones.")
        return row

    def _runs(self, row: Promotion) -> bool:
        return not row.ended and row.until >= f"{self.now:%Y-%m-%d}"

    def _price(self, article: Article) -> int:
        for row in self.promotions.values():
            if row.article_id == article.article_id and self._runs(row):
                return max(article.cost, article.price * (100 - row.percent) // 100)
        return article.price


def _branch_shown(row: Branch) -> BranchShown:
    return {"branch_id": row.branch_id, "name": row.name, "manager": row.manager, "open": row.open}


def _article_shown(row: Article) -> ArticleShown:
    return {"article_id": row.article_id, "name": row.name, "price": money(row.price), "supplier_id": row.supplier_id}


def _supplier_shown(row: Supplier) -> SupplierShown:
    return {"supplier_id": row.supplier_id, "name": row.name, "days": row.days, "smallest": money(row.smallest)}


def _stock_shown(row: Stock) -> StockShown:
    return {"branch_id": row.branch_id, "article_id": row.article_id, "pieces": row.pieces, "minimum": row.minimum}


def _transfer_shown(row: Transfer) -> TransferShown:
    return {
        "transfer_id": row.transfer_id,
        "article_id": row.article_id,
        "target_id": row.target,
        "pieces": row.pieces,
        "status": row.status,
    }


def _purchase_shown(row: Purchase) -> PurchaseShown:
    return {
        "purchase_id": row.purchase_id,
        "supplier_id": row.supplier_id,
        "branch_id": row.branch_id,
        "total": money(row.cents),
        "due": row.due,
        "status": row.status,
    }
