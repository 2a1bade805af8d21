"""Numbers of scripts in another language than their page: its units and counts are in words."""

from __future__ import annotations

import pytest

from movie_generator.grounding.evidence import Evidence

ARABIC = "افتتح الجسر عام ١٩٣٣ ويبلغ طوله ٣٨٢ مترا، وتكلف بناؤه ٣٠٨٬٢٥٠ جنيها، و٪٤٥ منه حديد."
CHINESE = "大桥于1957年通车，全长1670米，总投资1.38亿元，每天有10万辆车通过。"
HINDI = "यह पुल १९४३ में बना और ७०५ मीटर लंबा है।"
KOREAN = "다리는 1973년에 세워졌고 길이는 660미터이며 비용은 32억 원이었다. 하루 3만 대가 지난다."
POLISH = (
    "Most otwarto w 1911 roku, ma 382 metry długości i kosztował 4,5 mln złotych. Znajduje się "
    "w centrum miasta i jest jednym z najważniejszych zabytków, który został zbudowany przez "
    "znanego inżyniera po długich sporach między mieszkańcami oraz władzami, które nie chciały "
    "płacić za jego budowę ani za późniejsze utrzymanie, choć każdy z nich korzystał potem chętnie."
)
RUSSIAN = "Мост построен в 1916 году. Его длина 268 метров, 12 тысяч машин в день, 4,5 млн рублей."
THAI = "สะพานนี้มีความยาว ๔๖๖ เมตร"
ENGLISH = (
    "The bridge is 409 metres long. 100,000 cars cross it each day, and it is cleaned three times "
    "a day with the water of the river. It was closed for one month in the year 1911."
)


OPENED = {
    "ar": "افتتح الجسر في 15 أكتوبر 1957 في القاهرة",
    "el": "Η γέφυρα άνοιξε στις 15 Οκτωβρίου 1957.",
    "hi": "पुल 15 अक्टूबर 1957 को खुला।",
    "ko": "다리는 1957년 10월 15일에 개통되었다.",
    "pl": POLISH.replace("w 1911 roku", "15 października 1957 roku"),
    "ru": "Мост открыт 15 октября 1957 года.",
    "zh": "大桥于1957年10月15日通车。",
}


def refused(page: str, sentence: str, language: str) -> bool:
    return bool(Evidence(page).unsupported(sentence, language))


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (ARABIC, "It is 382 metres long."),
        (ARABIC, "It cost 308,250 pounds, and 45 percent of it is iron."),
        (CHINESE, "It is 1,670 metres long and cost 138 million yuan."),
        (CHINESE, "100,000 cars cross it each day."),
        (HINDI, "It was built in 1943 and is 705 metres long."),
        (KOREAN, "It is 660 metres long and cost 3.2 billion won."),
        (KOREAN, "Thirty thousand cars cross it each day."),
        (POLISH, "It is 382 metres long and cost 4.5 million zloty."),
        (RUSSIAN, "It is 268 metres long."),
        (RUSSIAN, "Twelve thousand cars cross it each day, and it cost 4.5 million roubles."),
        (THAI, "It is 466 metres long."),
    ],
)
def test_a_number_may_have_its_unit_in_words_that_nobody_knows(page: str, sentence: str) -> None:
    assert not refused(page, sentence, "en")


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (ARABIC, "It is 383 metres long."),
        (CHINESE, "It cost 13.8 million yuan."),
        (KOREAN, "It was built in 1974."),
        (POLISH, "It cost 5.5 million zloty."),
        (RUSSIAN, "It is 26.8 metres long."),
        (RUSSIAN, "Thirteen thousand cars cross it each day."),
    ],
)
def test_a_number_that_the_page_has_in_no_words_is_refused(page: str, sentence: str) -> None:
    assert refused(page, sentence, "en")


@pytest.mark.parametrize(
    "sentence",
    [
        "橋には1日に10万台の車が通ります。",
        "1日3回掃除します。",
        "橋は1か月閉鎖されました。",
        "1年のうち1か月でした。",
    ],
)
def test_one_day_is_a_day_in_japanese(sentence: str) -> None:
    assert not refused(ENGLISH, sentence, "ja")


@pytest.mark.parametrize(
    "sentence",
    ["橋には1日に20万台の車が通ります。", "橋は3月1日に開通しました。", "橋は5日に開通しました。"],
)
def test_what_is_said_of_a_day_is_checked_all_the_same(sentence: str) -> None:
    assert refused(ENGLISH, sentence, "ja")


@pytest.mark.parametrize("page", OPENED.values(), ids=OPENED)
def test_a_date_may_have_its_month_in_the_pages_language(page: str) -> None:
    assert not refused(page, "It opened on 15 October 1957.", "en")
    assert not refused(page, "It opened in October 1957.", "en")
    assert not refused(page, "橋は1957年10月15日に開通しました。", "ja")
    assert refused(page, "It opened on 16 October 1957.", "en")
    assert refused(page, "It opened in November 1957.", "en")


CHINESE_FACTS = "大桥于1957年通车，封闭了三周。修缮约占预算的百分之七。工程星期一上午7点30分开始。"
JAPANESE_FACTS = "橋は1957年に開通し、工事は月曜日の午前7時30分に始まる。"
KOREAN_FACTS = (
    "다리는 1957년에 개통되었고 공사는 월요일 오후 7시 30분에 시작한다. 1만 2000대가 지난다."
)
PORTUGUESE_FACTS = "As obras começam na segunda-feira às 7h30 e não são as mais caras da cidade."


@pytest.mark.parametrize(
    ("page", "right", "wrong", "language"),
    [
        (CHINESE_FACTS, "约占预算的7%。", "约占预算的百分之十七。", "zh"),
        (CHINESE_FACTS, "道路封闭了3周。", "道路封闭了三个月。", "zh"),
        (CHINESE_FACTS, "1950年代，千万不要错过两个要点。", "1960年代通车。", "zh"),
        (CHINESE_FACTS, "星期一开始。", "星期二开始。", "zh"),
        (CHINESE_FACTS, "It starts on Monday at half past seven.", "It starts on Tuesday.", "en"),
        (JAPANESE_FACTS, "1950年代の橋です。", "1960年代の橋です。", "ja"),
        (JAPANESE_FACTS, "月曜に始まります。", "火曜日に始まります。", "ja"),
        (JAPANESE_FACTS, "It starts on Monday.", "It starts on Friday.", "en"),
        (KOREAN_FACTS, "1950년대의 다리입니다.", "1960년대의 다리입니다.", "ko"),
        (KOREAN_FACTS, "매일 1만 2천 대가 지나갑니다.", "매일 1만 3천 대가 지나갑니다.", "ko"),
        (KOREAN_FACTS, "Twelve thousand cars cross it.", "Thirteen thousand cars cross it.", "en"),
        (KOREAN_FACTS, "It starts at 7:30 pm on Monday.", "It starts at 7:30 am.", "en"),
        (PORTUGUESE_FACTS, "It starts on Monday.", "It starts on Tuesday.", "en"),
        (PORTUGUESE_FACTS, "Começa na segunda-feira.", "Começa na terça-feira.", "pt"),
    ],
)
def test_days_decades_and_scales_are_read_without_blanks_between_words(
    page: str, right: str, wrong: str, language: str
) -> None:
    assert not refused(page, right, language)
    assert refused(page, wrong, language)
