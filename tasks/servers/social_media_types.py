"""Identifiers, rows, argument types and result types of the social media server.

Run: nothing here runs by itself; `tasks.servers.social_media` is the server.

Left out: rows of a profile's counts; they are counted where they are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from tasks.servers.typed import Date, Time, identifier

ProfileId = identifier("profile", "prof")
PostId = identifier("post", "post")
PostCommentId = identifier("post_comment", "pcom")
DraftId = identifier("post_draft", "pdr")
ProfileMessageId = identifier("profile_message", "pms")

Audience = Literal["everyone", "followers"]
Standing = Literal["self", "following", "requested", "blocked", "none"]
KnownHandle = Annotated[str, Field(min_length=1, max_length=60, description="The profile's name; case does not matter.")]
PostText = Annotated[str, Field(min_length=1, max_length=280, description="The text, one line.")]
Tag = Annotated[str, Field(pattern="^[a-z][a-z0-9_]{1,29}$", description="A hashtag without #.")]


@dataclass(frozen=True, slots=True)
class Profile:
    profile_id: str
    name: str
    bio: str
    private: bool


@dataclass(frozen=True, slots=True)
class Link:
    """One follows another (`pending` until a private profile agrees), or blocks them. The key is `kind/from/to`."""

    kind: Literal["follow", "block"]
    source: str
    target: str
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Post:
    """`shared` is the post that this one shares; `saved` are those who keep it; `votes` are (profile, number from 1)."""

    post_id: str
    author: str
    text: str
    at: str
    audience: Audience
    tags: tuple[str, ...] = ()
    likes: tuple[str, ...] = ()
    saved: tuple[str, ...] = ()
    shared: str = ""
    options: tuple[str, ...] = ()
    votes: tuple[tuple[str, int], ...] = ()
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Comment:
    comment_id: str
    post_id: str
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """`due` is the minute in which it is to be published, or empty."""

    draft_id: str
    text: str
    audience: Audience
    tags: tuple[str, ...]
    due: str = ""


@dataclass(frozen=True, slots=True)
class PrivateMessage:
    """Between the user and `profile_id`; `mine` when the user wrote it."""

    message_id: str
    profile_id: str
    mine: bool
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class User:
    """The one row that says who the user is."""

    profile_id: str


class ProfileShown(TypedDict):
    profile_id: ProfileId
    name: str
    private: bool
    standing: Standing


class ProfileTold(TypedDict):
    profile_id: ProfileId
    bio: str
    followers: int
    following: int
    posts: int


class PostShown(TypedDict):
    post_id: PostId
    author_id: ProfileId
    text: str
    likes: int
    comments: int


class PostTold(TypedDict):
    post_id: PostId
    author_id: ProfileId
    audience: Audience
    likes: int
    shares: int
    tags: list[str]


class PostDone(TypedDict):
    post_id: PostId
    audience: Audience


class LikeDone(TypedDict):
    post_id: PostId
    likes: int


class SaveDone(TypedDict):
    post_id: PostId
    saved: bool


class FollowDone(TypedDict):
    profile_id: ProfileId
    standing: Standing


class FollowerDone(TypedDict):
    profile_id: ProfileId
    followers: int


class CommentShown(TypedDict):
    comment_id: PostCommentId
    author_id: ProfileId
    text: str


class CommentDone(TypedDict):
    comment_id: PostCommentId
    comments: int


class DraftShown(TypedDict):
    draft_id: DraftId
    text: str
    audience: Audience


class ScheduledShown(TypedDict):
    draft_id: DraftId
    text: str
    due: str


class ScheduleDone(TypedDict):
    draft_id: DraftId
    due: str


class UnscheduleDone(TypedDict):
    draft_id: DraftId
    scheduled: int


class DraftDone(TypedDict):
    draft_id: DraftId
    drafts: int


class MessageShown(TypedDict):
    message_id: ProfileMessageId
    mine: bool
    text: str
    at: str


class MessageDone(TypedDict):
    message_id: ProfileMessageId
    profile_id: ProfileId


class TagShown(TypedDict):
    tag: str
    posts: int


class Choice(TypedDict):
    choice: int
    text: str
    votes: int


class Settings(TypedDict):
    """What others see of the user's profile."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    bio: Annotated[str, Field(max_length=100, description="A line about the user; may be empty.")]
    private: Annotated[bool, Field(description="Followers must ask first.")]


class Slot(TypedDict):
    """When to publish."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    day: Date
    time: Time
