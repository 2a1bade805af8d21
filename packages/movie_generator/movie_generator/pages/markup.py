"""An HTML page: its head, and the text that readers come for, as Markdown.

Which part that is, trafilatura finds. Before it looks, all is settled that it does not know: images
that scripts would load, raised numbers, text that no browser shows, and containers that are
something else by name but hold the text. Where it finds but little of what the page says, as on
pages of many small texts, the whole page is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from mcp_ghost.tables import compiled, table
from movie_generator.pages.decoding import decoded
from movie_generator.pages.head import attribute, head_of
from movie_generator.pages.page import RAISED_DIGITS, Page, absolute, line, tidy, usable_images

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MOST_SEARCHED = 3_000_000
"""Characters of HTML; more would take longer than a page is waited for."""
MOST_OF_HEAD = 1_000_000
"""Characters of HTML in which a page tells of its author and its date."""
MOST_TEXT = 1_000_000
"""Characters of the text of such a page; a writer is given no more of any."""
_BY_NAME = ("aside", "button", "dialog", "fieldset", "footer", "form", "label", "menu", "nav")
"""What trafilatura leaves out by name."""
_LARGE_SHARE = 0.3
_ENOUGH, _ENOUGH_OF_SHORT = 0.35, 0.6
"""Shares of what a page says that must be found."""
_SHORT_PAGE = 700
"""Characters; where there are so few, those around the text cost little."""
_SHORTEST_PAGE = 200
"""Characters; fewer in a <noscript> only ask for a browser, and fewer on a page are all of it."""
_FORMS = compiled(table("movie_generator", "pages/markup.toml"))
_ANY = "//*[not(self::html or self::head or self::body)]"
_INK = re.compile(r"(?:^|;)\s*color\s*:\s*([^;!]+)", re.IGNORECASE)
_PAPER = re.compile(r"(?:^|;)\s*background(?:-color)?\s*:\s*([^;!]+)", re.IGNORECASE)
_COLOURS = {"#fff": "white", "#ffffff": "white", "rgb(255,255,255)": "white"}
_COLOURS |= {"#000": "black", "#000000": "black", "rgb(0,0,0)": "black"}
_OPENED = "//*[self::button or @role='button' or @role='tab']/@aria-controls"
_NOT_SHOWN = re.compile(r"(?:^|(?<=\}))\s*([.#])([\w-]+)\s*\{[^{}]*\bdisplay\s*:\s*none\b")
_CONDITIONS = re.compile(r"@[^{};]{0,200}\{(?:[^{}]*+\{[^{}]*+\})*+[^{}]*+\}")
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\r"})
_END = re.compile(rb"</(?:[bB][oO][dD][yY]|[hH][tT][mM][lL])\s*>")
"""Tags behind which lxml, unlike browsers, leaves everything out."""
_DEEPEST = 200
"""Tags within tags; no page meant to be read has more, and time would grow with their square."""
_PICTURE = re.compile(r"!\[([^\]\n]*)\]\((picture-\d{1,6}\.png)\)")
_RAISED = str.maketrans("0123456789-", f"{RAISED_DIGITS}\N{SUPERSCRIPT MINUS}")
_PERMALINKS = ("#", "\N{PILCROW SIGN}", "\N{SECTION SIGN}", "\N{LINK SYMBOL}")
_ASKS = ("?", "\N{FULLWIDTH QUESTION MARK}", "\N{ARABIC QUESTION MARK}")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary")


def page_from_html(html: bytes | str, url: str, encoding: str | None = None) -> Page:
    """Read a page; ``encoding`` is what the server said, and may be wrong or missing."""
    text = html if isinstance(html, str) else decoded(html, encoding)
    tree = _parsed(text)
    is_long = len(text) > MOST_SEARCHED
    notes = _shortened(tree) if is_long else ()
    start = tree if len(text) <= MOST_OF_HEAD else _parsed(text[:MOST_OF_HEAD])
    page, base = head_of(start, url)
    _settle_images(tree, base)
    _settle_text(tree)
    images: dict[str, tuple[str, str]] = {}
    for image in tree.iter("img"):  # by number: trafilatura drops what does not end as files do
        alt = line(image.get("alt")).replace("[", "(").replace("]", ")")
        name = f"picture-{len(images)}.png"
        images[name] = image.get("src"), alt
        image.attrib.clear()
        image.attrib.update({"src": name, "alt": alt})
    markdown = _markdown(tree, is_long=is_long)
    shown = [images[it[2]] for it in _PICTURE.finditer(markdown) if it[2] in images]
    found = [*((it.url, it.alt) for it in page.images), *(shown or images.values())]
    return replace(
        page,
        text=_PICTURE.sub(lambda it: f"![{it[1]}]({images.get(it[2], ('', ''))[0]})", markdown),
        images=usable_images(found, base),
        notes=notes,
    )


def _parsed(text: str) -> HtmlElement:
    from lxml.etree import ElementDefaultClassLookup, ParserError, strip_tags
    from lxml.html import HtmlElement, HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    # One class for all tags: lxml's own choice asks Python for each of them, again and again.
    parser.set_element_class_lookup(ElementDefaultClassLookup(element=HtmlElement))
    html = text.replace("\f", " ").encode(errors="ignore").translate(None, _CONTROLS)
    try:
        html = _END.sub(b"", re.sub(rb"\xef\xbf[\xbe\xbf]", b"", html))  # U+FFFE is in no text
        tree = document_fromstring(html, parser=parser)
    except ParserError:  # it holds nothing
        return document_fromstring(b"<p>")
    for tag in tree.xpath("/*" * _DEEPEST):
        strip_tags(tag, "*")
    return tree


def _shortened(tree: HtmlElement) -> tuple[str, ...]:
    """Leave out what stands behind as much text as is used; returns what to say of it."""
    left = MOST_TEXT
    for tag in tree.iter():
        if left < 0:
            break
        if tag.tag not in ("script", "style"):
            left -= len(tag.text or "") + len(tag.tail or "")
    else:
        return ()
    for it in [tag, *tag.xpath("ancestor-or-self::*/following-sibling::*")]:
        it.getparent().remove(it)
    return (f"Only the first {MOST_TEXT:,} characters of its text were read.",)


def _markdown(tree: HtmlElement, *, is_long: bool) -> str:
    """Return the text that readers come for, with pictures by their numbers."""
    from lxml.etree import strip_tags
    from trafilatura import extract
    from trafilatura.htmlprocessing import convert_tags, prune_unwanted_nodes, tree_cleaning
    from trafilatura.settings import Extractor
    from trafilatura.xml import xmltotxt
    from trafilatura.xpaths import DISCARD_IMAGE_ELEMENTS, OVERALL_DISCARD_XPATH

    options = Extractor(output_format="markdown", comments=False, images=True, precision=True)
    tree = prune_unwanted_nodes(tree, DISCARD_IMAGE_ELEMENTS, with_backup=True)
    found = "" if is_long else tidy(extract(tree, options=options) or "")
    if _is_enough(found, _said(tree)):  # with menus and the like, without which it takes longer
        return found
    options.focus = "balanced"
    whole = tree_cleaning(deepcopy(tree), options)
    whole = prune_unwanted_nodes(whole, OVERALL_DISCARD_XPATH, with_backup=True)
    said = _said(whole)
    if not is_long and not _is_enough(found, said):
        found = tidy(extract(tree, options=options) or "")
    if _is_enough(found, said):
        return found
    strip_tags(whole, "a")
    return tidy(xmltotxt(convert_tags(whole, options), include_formatting=True))


def _is_enough(found: str, said: int) -> bool:
    """Return whether a text is long enough for a page that says so many characters."""
    share = _ENOUGH if said >= _SHORT_PAGE else _ENOUGH_OF_SHORT
    return len(_PICTURE.sub("", found)) >= share * max(said, _SHORTEST_PAGE)


def _said(whole: HtmlElement) -> int:
    """Count the characters of all different texts that are in no link and no reader's comment."""
    texts = {whole.text}
    waiting = [whole]
    while waiting:  # no recursion: a page may be nested as deeply as it likes
        for child in waiting.pop():
            texts.add(child.tail)
            names = f"{child.get('id', '')} {child.get('class', '')}".lower()
            if child.tag not in ("a", "script") and "comment" not in names:
                texts.add(child.text)
                waiting.append(child)
    return sum(len(text.strip()) for text in texts if text)


def _settle_text(tree: HtmlElement) -> None:
    """Leave in the tree what readers see, under names by which trafilatura finds it."""
    doubtful = [*_unseen_by_rule(tree)]
    for tag in [*tree.iter("link", "meta", "script", "style", "svg", "template")]:
        if tag.tag == "template" and tag.get("shadowrootmode"):
            tag.tag = "div"
        elif tag.get("type") != "application/ld+json":  # which tells trafilatura what a page is
            tag.drop_tree()
    _leave_out_unseen(tree, doubtful)
    for tag in tree.xpath("//a[contains(@href, '#')] | //span[contains(@class, 'note')]"):
        if re.fullmatch(r"\s*\W?\d{1,3}\W?\s*", tag.text_content()) and _before(tag)[-1:].strip():
            tag.drop_tree()
    for tag in [*tree.iter("figure", "figcaption", "sub", "sup", "time", "title")]:
        if tag.tag == "sup":
            _settle_raised(tag)
        elif tag.tag in ("sub", "time"):
            if tag.tag == "sub" and _before(tag)[-1:].isdigit() and (tag.text or "")[:1].isdigit():
                tag.text = f"_{tag.text}"
            tag.drop_tag()
        elif tag.tag == "title":
            tag.drop_tree()
        else:
            tag.tag = "div" if tag.tag == "figure" else "p"
    for tag in tree.iter("p"):
        tag.attrib.clear()  # a paragraph is what it says, whatever a designer called it
    data = sum(len(tag.text or "") for tag in tree.iter("script"))
    is_short = len(tree.text_content()) - data < _SHORT_PAGE  # and may say nothing else
    for tag in [*tree.iter("a")]:
        if (tag.text_content().strip() or "-") in _PERMALINKS:
            tag.drop_tree()
        elif not is_short and tag.getnext() is None and (teaser := _teaser_of(tag)) is not None:
            teaser.drop_tree()
    for tag in [*tree.iter()]:
        if tag.tag == "head":
            tag.tag = "div"  # without a <body>, lxml puts what follows into it
        text, tail = tag.text or "", tag.tail or ""
        # What trafilatura writes, it unescapes once more.
        if "&" in text:
            tag.text = text.replace("&", "&amp;")
        if "&" in tail:
            tag.tail = tail.replace("&", "&amp;")
        is_credit = text and not is_short and _FORMS["credit"].match(text)
        if is_credit and len(tag.text_content()) < 120:
            tag.drop_tree()
    length = len(tree.text_content())
    for tag in [*tree.iter(*_BY_NAME)]:
        said = tag.text_content().rstrip()
        if tag.getparent().tag in _HEADINGS:
            tag.drop_tag()
        elif tag.tag == "button" and said.endswith(_ASKS):
            tag.tag = "p"
        elif len(said) > _LARGE_SHARE * length:
            tag.tag = "div"
    for tag in [*tree.iter("noscript")]:
        if len(tag.text_content().strip()) > _SHORTEST_PAGE:
            tag.tag = "div"
        elif not tag.text_content().strip():
            tag.drop_tag()  # an image for browsers without scripts
        else:
            tag.drop_tree()


def _leave_out_unseen(tree: HtmlElement, doubtful: list[HtmlElement]) -> None:
    """Leave out what is hidden, and what is ``doubtful`` unless that is much of the page."""
    hidden: list[HtmlElement] = []
    for tag in tree.xpath(f"{_ANY}[@hidden or @style or @color]"):
        style = tag.get("style", "")
        if "hidden" in tag.attrib or _FORMS["hidden"].search(style):
            hidden.append(tag)
        elif _FORMS["unseen"].search(style) or _has_colour_of_paper(tag):
            doubtful.append(tag)
    # The answer to a question stays: readers open it.
    opened = {name for it in tree.xpath(_OPENED) for name in it.split()}
    answers = {it for it in hidden + doubtful if it.get("id") in opened or _is_answer(it)}
    for tag in answers:
        tag.attrib.clear()  # or trafilatura leaves it out
    for tag in hidden:
        if tag not in answers:
            tag.drop_tree()
    unread = [it for it in doubtful if it not in answers]
    length = sum(len(it.text_content()) for it in unread)
    for tag in unread if length < _LARGE_SHARE * len(tree.text_content()) else ():
        if tag.getparent() is not None:
            tag.drop_tree()


def _unseen_by_rule(tree: HtmlElement) -> Iterator[HtmlElement]:
    """Yield what the page's own style sheet, or that of every such page, never shows."""
    for tag in tree.xpath(f"{_ANY}[@class]"):
        names = tag.get("class")
        if _FORMS["never_shown"].search(names) and not _FORMS["shown_on_wide"].search(names):
            yield tag
    styles = " ".join(it.text or "" for it in tree.iter("style"))[:100_000]
    styles = _CONDITIONS.sub("", styles) if "none" in styles else ""
    for kind, name in _NOT_SHOWN.findall(styles):
        if styles.count(kind + name) == 1:  # another rule may show it
            place = f"@id, '{name}'" if kind == "#" else f"concat(' ', @class, ' '), ' {name} '"
            yield from tree.xpath(f"{_ANY}[contains({place})]")


def _is_answer(tag: HtmlElement) -> bool:
    """Whether a reader opens this text, by the question right above it or a tab."""
    if tag.get("role") == "tabpanel" or "acceptedAnswer" in tag.get("itemprop", ""):
        return True
    above = tag.getprevious()
    if above is None or not above.text_content().rstrip().endswith(_ASKS):
        return False
    opens = above.tag in _HEADINGS or above.find(".//button") is not None
    named = f"{above.tag} {above.get('role', '')} {above.get('class', '')}"
    return opens or "button" in named or _FORMS["question"].search(named) is not None


def _has_colour_of_paper(tag: HtmlElement) -> bool:
    """Whether letters have the colour that the page says is behind them."""
    ink = _INK.search(f"{tag.get('style', '')};color:{tag.get('color', '')}")
    if ink is None:
        return False
    for holder in (tag, *tag.iterancestors()):
        style = f"{holder.get('style', '')};background:"
        style += holder.get("bgcolor") or holder.get("background", "")
        if paper := _PAPER.search(style):
            colours = [re.sub(r"\s", "", it[1]).lower() for it in (ink, paper)]
            return len({_COLOURS.get(it, it) for it in colours}) == 1
    return False


def _teaser_of(link: HtmlElement) -> HtmlElement | None:
    """Return the paragraph that says no more than which other page to read."""
    paragraph: HtmlElement | None = next(link.iterancestors("p"), None)
    if paragraph is None or paragraph.getparent() is None:  # as of one that was left out
        return None
    title, whole = link.text_content().strip(), paragraph.text_content().strip()
    label = whole.removesuffix(title).rstrip()
    is_teaser = label.endswith(":") and len(label) <= 30 and len(title) >= 25  # Read also: ...
    return paragraph if is_teaser else None


def _settle_raised(tag: HtmlElement) -> None:
    """Write a raised number as such, so that it does not become part of what it follows."""
    raised = tag.text_content().strip()
    parent = tag.getparent()
    if parent.tag == "a" and parent.text_content().strip() == raised:
        parent.drop_tree()  # a note
    elif raised.startswith("[") or parent.tag == "a" or tag.find(".//a") is not None:
        tag.drop_tree()
    elif raised.translate(_RAISED) == raised:
        tag.drop_tag()
    else:
        del tag[:]
        if (tag.tail or "").startswith(("/", "\N{FRACTION SLASH}")):
            tag.text = f" {raised}"
        elif len(raised) == 2 and re.search(r"[$€£]\s?\d+$", _before(tag)):
            tag.text = f".{raised}"
        else:
            tag.text = raised.translate(_RAISED)
        tag.drop_tag()


def _before(tag: HtmlElement) -> str:
    """Return the text right before a tag, within its parent."""
    previous = tag.getprevious()
    if previous is None:
        return tag.getparent().text or ""
    return previous.tail or str(previous.text_content())


def _settle_images(tree: HtmlElement, base: str) -> None:
    """Give every image the address of what a browser shows; where there is none, its words stay."""
    # Until they are scrolled to, many images are only placeholders, with the address in attributes
    # of a script's own, or in an image for browsers without scripts.
    shown: set[str] = set()
    for image in [*tree.iter("img", "amp-img")]:
        image.tag = "img"
        source = next((it for it in _sources(image) if absolute(it, base)), "")
        spare = next(image.iterancestors("noscript"), None)
        is_spare = spare is not None and not spare.text_content().strip()
        if source and not (is_spare and source in shown):
            if source != attribute(image, "src"):
                image.attrib.pop("style", None)  # a script shows it
            image.set("src", source.replace(" ", "%20"))
            shown.add(source)
        else:
            image.tail = f"{'' if is_spare else attribute(image, 'alt')}{image.tail or ''}"
            image.drop_tree()


def _sources(image: HtmlElement) -> Iterator[str]:
    """Yield the addresses where an image may be, what is meant for scripts first."""
    if {attribute(image, "width"), attribute(image, "height")} & {"0", "1"}:
        return  # it only counts readers
    places = [image]
    picture = next(image.iterancestors("picture"), None)
    if picture is not None:
        places += islice(picture.iter("source"), 10)
    for name in ("data-src", "data-original", "data-lazy-src"):
        yield attribute(image, name)
    if _FORMS["no_picture"].search(attribute(image, "src") or "data:"):
        lazy = (value for name, value in image.items() if name.startswith("data-"))
        yield from (it.split()[0].rstrip(",") for it in lazy if _FORMS["picture"].search(it))
    for name in ("data-srcset", "data-lazy-srcset", "src", "srcset"):
        for tag in places:
            value = attribute(tag, name)
            # Addresses may hold commas themselves; between two of them, there is white space.
            yield value if name == "src" or not value else value.split()[0].rstrip(",")
