"""The result of a tool: the words of a page in it, what it says about the page, what is wrong.

Scrapers wrap a page in objects of their own, report failures inside a successful result, or give
something else instead. The fields are those of Firecrawl (docs.firecrawl.dev/api-reference), Tavily
(docs.tavily.com), Exa (exa.ai/docs: ``statuses``), Crawl4AI (docs.crawl4ai.com/api/crawl-result),
Jina Reader (github.com/jina-ai/reader), Apify's and Crawlbase's crawlers.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from mcp_ghost.media import media_in
from mcp_ghost.text import one_line

_TEXTS = """
    markdown fit_markdown raw_markdown articleBody text content raw_content rawContent
    page_content pageContent body article html cleaned_html rawHtml browserHtml result results
    output response resource data page pages document documents items
""".split()  # noqa: SIM905  a list would take 25 lines
_ADDRESSES = ("url", "sourceURL", "source_url", "loadedUrl", "link")
_STATUSES = """
    statusCode status_code httpStatusCode http_status httpStatus pageStatusCode responseStatus
    original_status status code
""".split()  # noqa: SIM905  a list would take 10 lines
_FAILURES = {"success": False, "ok": False, "isError": True, "is_error": True}
_ERRORS = ("error", "error_message", "errorMessage", "err", "warning", "message", "detail")
_JOBS = ("success", "jobId", "job_id", "taskId", "task_id")
"""What tells of work on a page that is not done, where nothing tells of the page."""
_ABOUT = ("metadata", "crawl", "error", "response")
_NOTHING = ("undefined", "null", "none", "true", "false", "timeout", "[object object]")
"""What a program prints where it has nothing."""
_LONGEST_NOTICE = 700
"""Characters; what is longer is a page, whatever words it begins with."""
_LONGEST_LEAD = 100
"""Of words such as "Here is the page:" beside the page."""
_STATUS = r"\b[45]\d\d\b"
_STATUS_ALONE = re.compile(r"([45]\d\d)(?: [A-Z].{0,40})?")
_NOTICE = re.compile(
    r"(?:\W*(?:result|\w{1,8}!)\s)?"
    rf"(?:\W*(?:http|status|error)(?: ?/? ?(?:\d\.\d|code|status|error))*\W{{0,3}}"
    rf"(?:{_STATUS}|10\d\d: access denied\b)"
    rf"|\W*(?:erreur )?{_STATUS}\W{{0,4}}(?:$|(?:client |server |http )?error\b|(?:page )?not found"
    r"|(?:this|the|cette|diese) (?:page|seite)\b|forbidden|access denied"
    r"|unauthori[sz]ed|bad (?:request|gateway)|internal server|service|gateway|too many|gone\b)"
    r"|\W*(?:[\w.]*error(?: \w+ing\b[^.:\n]{0,40})?|[\w.]*exception|traceback[^:\n]*)\W*:"
    r"|\W*(?:page\.goto: )?net::ERR"
    r"|\W*E(?:CONN|NOTFOUND|TIMEDOUT)"
    r"|(?:\W*\w{1,8}!)?[^.!?\n]{0,40}\b(?:page|site|url|seite|article)(?: you[^.!?\n]{0,40})?"
    r"(?: was| is| could| can| wurde| konnte)? ?(?:not|n?\Wt|nicht)(?: be)?"
    r" (?:found|gefunden)\s*(?:$|[.!:\n])"
    r"|\W*(?:this |the )?(?:page|site|url) (?:you[^.!?\n]{0,40})?(?:does|do)"
    r"(?: not|n\Wt) exist\b"
    r"|\W*(?:access (?:denied|to this page has been denied)|forbidden\s*(?:$|[\n.:!(])"
    r"|unauthori[sz]ed\W"
    r"|rate limit exceeded|you (?:have been|are being) (?:blocked|rate limited)"
    r"|you have run out of credits|too many requests|service unavailable|bad gateway"
    r"|insufficient credits|invalid api[ -]?key|unknown tool\b|not authenticated"
    r"|(?:you have )?exceeded your\b|[^.!?\n]{0,30}\breturned no [^.!?\n]{0,12}content"
    r"|[^.!?\n]{0,20}\bjob (?:was )?started\b|the sites robots\.txt\b"
    r"|gateway time-?out|(?:the )?(?:site's )?robots\.txt\b|no content (?:found|available)"
    r"|(?:sign|log) in to (?:continue|your account))"
    r"|[^.!?\n]{0,40}\b(?:page introuvable|page non trouvée|página no (?:encontrada|existe)"
    r"|página não encontrada|pagina non trovata|pagina niet gevonden|страница не найдена)\b"
    r"|(?=[^.!?\n]{0,60}\b(?:page|pagina|página|seite|stron[aęy]|sidan|siden|sivua|страниц\w+)\b)"
    r"[^.!?\n]{0,60}\b(?:n\We(?:xiste|st) (?:pas|plus)|no existe|não existe|non esiste|bestaat niet"
    r"|existiert nicht|nie istnieje|nie znaleziono|kunde inte hittas|hittades inte|ikke fun[nd]et"
    r"|ei löydy|не существует)\b"
    r"|.{0,40}(?:ページ[がは]?(?:見つかりません|存在しません)|お探しのページ|页面(?:不存在|未找到)"
    r"|頁面不存在|페이지를 찾을 수 없))"
    r"|.{0,100}(?:\bHTTPS?ConnectionPool\(|\bmax retries exceeded\b|\bcould not resolve host\b"
    r"|\bno such host\b|\bCERTIFICATE_VERIFY_FAILED\b|\bnet::ERR_)",
    re.IGNORECASE,
)
_TITLED = re.compile(
    r"\W{0,4}(?:(?:http|status|error|code)\s){1,3}(\d{3}: (?:\S+ ){2}.*)\n", re.IGNORECASE
)
_ADVICE = re.compile(
    r"\b(?:home ?page|go back|return to|try again|contact|search|(?:your|the) request|this server"
    r"|you (?:are|were)|sorry|been (?:re)?moved|permission|unavailable)\b",
    re.IGNORECASE,
)
"""What errors tell their readers, unlike articles about them."""
_SWITCHED_ON = (
    r"(?:aktivier\w+|einschalten|activez|activer|activar?|ativ(?:e|ar)|attivar?e?|abilit\w+"
    r"|habilit\w+|включ\w+|włącz\w*|schakel\w*|zapněte|aktivera?)"
)
_SHELL = re.compile(
    r"\W*(?:just a moment\b|attention required|checking (?:if|your browser)"
    r"|(?:please )?verify(?:ing)?\b.{0,30}\b(?:human|robot)\b|are you a (?:human|robot)\b"
    r"|please wait\b.{0,60}|loading\W*$|(?:読み込み中|加载中|加載中|로딩 중)\W*$|we use cookies\b"
    r"|(?:please )?(?:(?:solve|complete) the captcha|(?:enable|turn on) (?:javascript|cookies))\b)"
    r"|.{0,200}?(?:\b(?:enable|turn on|activate) (?:javascript|js)\b"
    r"|\b(?:checking if the site connection is secure|verify (?:that )?you are (?:a )?human"
    r"|press (?:&|and) hold)\b"
    rf"|\b{_SWITCHED_ON}\b.{{0,25}}\bjavascript|\bjavascript\b.{{0,30}}\b{_SWITCHED_ON}\b"
    r"|javascript ?を?\s?(?:有効|启用|啟用|사용)|(?:启用|啟用|开启) ?javascript"
    r"|\bjavascript (?:is|(?:must|has to|needs to) be) (?:\w+ )?(?:disabled|enabled|required|off)\b"
    r"|\b(?:requires|needs) javascript\s*(?:$|[.!\n]|(?:to be |is )?(?:enabled|turned)"
    r"|to (?:function|work|run)))",
    re.IGNORECASE | re.DOTALL,
)
"""What a browser shows until it has run a page's scripts."""
_FENCED = re.compile(r"\s*```\w*\n(.*?)\n```\s*", re.DOTALL)
_DATA = re.compile(r"(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/=]{200,}\s*")
_FAILED = re.compile(
    r"\W*(?:(?:the |this )?[\w-]+ )?(?:failed|unable|could ?n[o']t|cannot|can't|was not able|"
    r"timed? ?out|timeout|blocked|refused|no content|nothing)\b",
    re.IGNORECASE,
)
_OF_NETWORK = re.compile(
    rf"{_STATUS}|https?:|\b(?:fetch\w*|load\w*|retriev\w*|access\w*|navigat\w*|scrap\w*|crawl\w*|"
    r"connect\w*|request\w*|extract\w*|open\w* (?:the |this )?page|url|website|network|\d ?ms|"
    r"proxy|dns|captcha|cloudflare)\b|net::ERR|ECONN|ENOTFOUND",
    re.IGNORECASE,
)
_OF_IMAGE = re.compile(
    r"\W*(?:(?:here is|took|saved) )?(?:a |the )?(?:full[- ]page )?(?:screenshot|image|picture)\b"
    r".{0,80}",
    re.IGNORECASE,
)
"""What leads to an image beside it."""
_JINA_WARNING = re.compile(
    r"^Warning: ((?:Target URL returned error|This page maybe requiring CAPTCHA)[^\n]*)",
    re.MULTILINE,
)
_SAVED = re.compile(
    r"\b(?:saved|written|wrote|stored|exported|downloaded|dumped|output|too large|exceeds?|"
    r"available|snapshot|full (?:text|content|result))\b",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?:(?:file:/{1,3}|(?<![\w/:.])(?:~|\.{1,2})?/)(?:[\w.@~-]+/)*|\b[A-Z]:\\+(?:[^\s\\]+\\+)*"
    r"|(?<![\w/:.])\.?[\w-]+/)[\w.@~-]+\.[A-Za-z]\w{0,5}\b"
)
_IS_PATH = re.compile(rf"(?:\w{{1,20}}: ?)?(?:{_PATH.pattern})(?:\n\w+: \S+)*")
_MISREAD = re.compile(
    "[ÃÂâ][\x80-\xbf\u0152-\u0178\u2018-\u2022\u20ac\u2122]"
    "|ï¿½|锟斤拷|\\b[\u0430-\u044f][\u0410-\u042f]{2,}"
)
_ENCODINGS = {
    "latin-1": 2,
    "cp1252": 2,
    "cp1251": 4,
    "cp932": 6,
    "gb18030": 6,
    "cp949": 6,
    "cp850": 4,
}
"""As which programs take UTF-8 if nobody tells them better; and how many characters show it."""


def page_text(value: object, address: str = "") -> str:
    """The words of a page in what a tool returned; of several pages, those of ``address``."""
    if isinstance(value, str):
        fenced = _FENCED.fullmatch(value)
        found = _json(fenced[1] if fenced else value)
        whole = mended(fenced[1] if fenced else value)
        return whole if found is None else page_text(found, address)
    if isinstance(value, Mapping):
        kind = value.get("type")
        if kind in ("image", "audio", "resource_link") or (kind == "resource" and "size" in value):
            return ""
        known = [page_text(value[key], address) for key in _TEXTS if key in value]
        text = next((it for it in known if it.strip()), "")
        return text if known else "\n".join(_labelled(value))
    if isinstance(value, list):
        ours = [it for it in value if address and _is_at(it, address)]
        texts = [page_text(it, address) for it in ours or value]
        wrapped = sum(len(it) for it, item in zip(texts, value, strict=False) if item is not it)
        if not ours and wrapped > _LONGEST_LEAD:  # what else is short only leads to it
            pairs = zip(texts, value, strict=True)
            texts = [it for it, item in pairs if item is not it or len(it) > _LONGEST_LEAD]
        return "\n\n".join(text for text in texts if text.strip())
    return "" if value is None else str(value)


def about_page(value: object, address: str = "") -> dict[str, Any]:
    """What a tool says of the page beside its words, such as ``title`` or ``ogImage``."""
    return dict(ChainMap(*map(dict, _objects(value, address))))


def fault(value: object, text: str, address: str = "") -> str:
    """Why ``text``, the words in what a tool returned, is not the page; empty if it may be."""
    said = one_line(text, 200)
    objects = [(it, _reason(it)) for it in _objects(value, address)]
    for found, reason in objects:
        statuses = (_STATUS_ALONE.fullmatch(str(found.get(key))) for key in _STATUSES)
        if status := next(filter(None, statuses), None):
            return f"the page answered {status[1]}" + (f" ({reason})" if reason else "")
    for found, reason in objects:
        state = str(found.get("status")).lower()
        failed = any(found.get(key) is it for key, it in _FAILURES.items())
        failed = failed or state in ("error", "failed", "failure")
        unknown = found is value and not found.keys() & {*_TEXTS} and any(map(found.get, _JOBS))
        undone = unknown or state in ("queued", "pending", "running", "processing")
        told = bool(reason) and reason not in (found.get("message"), found.get("warning"))
        if failed or ((undone or told) and len(text) < _LONGEST_NOTICE):
            return f"the tool failed: {reason or said or 'it does not say why'}"
    if warning := _JINA_WARNING.search(text[:2000]):
        return f"the tool failed: {warning[1]}"
    if media_in(value) and (not text.strip() or _OF_IMAGE.fullmatch(text)):
        return "it is an image or a sound, without any text"
    if not text.strip():
        return ""
    if is_garbled(text):
        return "its characters were read in a wrong encoding"
    if _DATA.fullmatch(text.strip()) or text.startswith("%PDF-"):
        return "it is a file's data, without any text"
    if len(text) > _LONGEST_NOTICE:
        return ""
    failed_by_network = _FAILED.match(text) and _OF_NETWORK.search(text)
    notice = failed_by_network or (_NOTICE.match(text) and not _is_titled(text))
    if notice or is_shell(text) or text.strip().lower() in _NOTHING:
        return f"it is only a notice: {said}"
    beside = len(_PATH.sub("", text))
    is_hint = beside < len(text) and beside < 400 and _SAVED.search(text)
    if is_hint or _IS_PATH.fullmatch(text.strip()):
        return f"it is the path of a file instead of its text: {said}"
    return ""


def _reason(found: Mapping[str, Any]) -> str:
    """What an object says of a failure, if there is one."""
    errors = [found[key] for key in _ERRORS if isinstance(found.get(key), str)]
    errors += ["\n".join(_labelled(found.get(key))) for key in ("error", "errors")]
    return one_line(next((it for it in errors if it.strip()), ""), 200)


def _is_titled(text: str) -> bool:
    """Whether a text that begins as an error goes on as an article does."""
    title = _TITLED.match(text)
    if title is None or _NOTICE.match(title[1]) or _ADVICE.search(text):
        return False
    return len(re.findall(r"\w[.!?](?:\s|$)", text[title.end() :])) >= 3


def is_shell(text: str) -> bool:
    """Whether a text is what a page shows to programs without JavaScript."""
    return len(text) <= 300 and _SHELL.match(text) is not None


def mended(text: str) -> str:
    """``text``, as UTF-8 if it was taken for something else throughout."""
    if "\x1b$" in text:
        with suppress(UnicodeError):
            return text.encode("latin-1").decode("iso2022_jp")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    for encoding, fewest in _ENCODINGS.items():
        with suppress(UnicodeError):
            if beyond >= fewest:
                return text.encode(encoding).decode("utf-8")
    return text


def is_garbled(text: str) -> bool:
    """Whether many of the characters can only come from a wrong encoding."""
    # Replacement characters and those of terminals show that at once. Beyond that, no language has
    # mostly letters between À and ÿ, and none puts "Ã" before signs. Two may be on any page.
    sample = text[:200_000]
    letters = sum(it.isalpha() for it in sample)
    unread = sum(it == "\N{REPLACEMENT CHARACTER}" or "\x80" <= it <= "\x9f" for it in sample)
    high = sum("\xa1" <= it <= "\xff" for it in sample)
    pairs = len(_MISREAD.findall(sample))
    total = max(letters, 20)
    return any(it > 2 and it * 100 > total for it in (unread, pairs)) or high * 2 > total


def _json(text: str) -> object:
    """What ``text`` is the JSON of, if that is an object, a list or a string with escapes."""
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return None
    found: object = None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        with suppress(ValueError, RecursionError):  # a value on each line
            found = [json.loads(it) for it in text.split("\n") if it.strip()]
    return None if isinstance(found, str) and "\\" not in text else found


def _labelled(value: object, name: str = "") -> Iterator[str]:
    """The values of an object of an unknown form, each on a line with its name."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _labelled(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from _labelled(item, name)
    elif value is not None and str(value).strip():
        yield f"{name}: {mended(str(value))}" if name else mended(str(value))


def _objects(value: object, address: str) -> Iterator[Mapping[str, Any]]:
    """The objects in which a tool tells of the page, from the outermost inwards."""
    if isinstance(value, str):
        value = _json(value)
    if isinstance(value, list):
        entries = [it for it in value if isinstance(it, Mapping | str)]
        ours = [it for it in entries if address and _is_at(it, address)]
        if len(entries) > 1:
            # Blocks of different kinds are of one page; several objects are several pages.
            entries = [it for it in entries if isinstance(it, Mapping) and not media_in(it)]
        for item in ours or (entries if len(entries) == 1 else ()):
            yield from _objects(item, address)
    if isinstance(value, Mapping):
        yield value
        for key in (*_ABOUT, "data", "result", "results", "failed_results", "statuses", "page"):
            if isinstance(inner := value.get(key), Mapping | list | str) and inner:
                yield from _objects(inner, address)


def _is_at(value: object, address: str) -> bool:
    """Whether an object says that it is about ``address``."""
    if not isinstance(value, Mapping):
        return False
    named = (value.get(key) for key in (*_ADDRESSES, "id"))
    return any(isinstance(it, str) and _plain(it) == _plain(address) for it in named)


def _plain(address: str) -> tuple[str, str, str]:
    """What tells one page from another, however its address is written."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return address, "", ""
    return parts.netloc.lower().removeprefix("www."), parts.path.rstrip("/"), parts.query
