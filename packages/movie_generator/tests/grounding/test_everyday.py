"""What everyone says, and money, months and dates as they are written where they are used."""

from __future__ import annotations

import pytest

from movie_generator.grounding.evidence import Evidence
from movie_generator.pages.markup import page_from_html

EN = (
    " The news was published by the paper and it is the most read of the week, as the bank of the "
    "country said when it was asked for more by the others."
)
DE = (
    " Die Nachricht wurde von der Zeitung veröffentlicht und ist die meistgelesene der Woche, wie "
    "die Bank des Landes mit einem Wort sagte und auch die anderen nicht."
)
ES = (
    " La noticia fue publicada por el periódico y es la más leída de la semana, como dijo el banco "
    "del país cuando se le preguntó por los otros."
)
FR = (
    " La nouvelle a été publiée par le journal et elle est la plus lue de la semaine, comme l'a dit "
    "la banque du pays, avec les autres."
)
PT = (
    " A notícia foi publicada pelo jornal e é a mais lida da semana, como disse o banco do país "
    "quando se perguntou por outros, e não foi."
)
IT = (
    " La notizia è stata pubblicata dal giornale ed è la più letta della settimana, come ha detto "
    "la banca del paese con una nota."
)
NL = (
    " Het nieuws werd door de krant gepubliceerd en is het meest gelezen van de week, zoals de bank "
    "van het land zei."
)
CAPSULE = "探测器总重8.2吨，带回的三种样品中有三颗珠子。"
LIBRARY = "図書館の利用者の30%が若い人で、3分の1は町の人だ。1990年代の本は2kgある。" * 4
REPORT = (
    "The company said that its sales had grown in the third quarter, and that it was good for many "
    "people in the town and for the others who were there. The profit was 28 million dollars."
)


def reasons(page: str, sentence: str, language: str) -> list[str]:
    return Evidence(page).unsupported(sentence, language)


@pytest.mark.parametrize(
    ("page", "sentence", "language"),
    [
        (f"Her time: 2:31:04.{EN}", "She took two hours, 31 minutes and four seconds.", "en"),
        (f"Her time: 2:31:04.{EN}", "She took more than two and a half hours.", "en"),
        (f"It cost Q179 million.{EN}", "It cost 179 million quetzales.", "en"),
        (f"It cost Q179 million.{EN}", "It cost Q179 million.", "en"),
        (f"It cost Rs 300.{EN}", "It cost 300 rupees.", "en"),
        (f"It cost Rs. 3 lakh.{EN}", "It cost three lakh rupees.", "en"),
        (f"It cost 50 lakh rupees.{EN}", "It cost five million rupees.", "en"),
        (f"It cost R50 million.{EN}", "It cost 50 million rand.", "en"),
        (f"It cost N500 million.{EN}", "It cost 500 million naira.", "en"),
        (f"It cost ₦500 million.{EN}", "It cost 500 million naira.", "en"),
        (f"It cost ฿200.{EN}", "It cost 200 baht.", "en"),
        (f"It cost KSh 500.{EN}", "It cost 500 shillings.", "en"),
        (f"It cost RM50.{EN}", "It cost 50 ringgit.", "en"),
        (f"It cost ₱50.{EN}", "It cost 50 pesos.", "en"),
        (f"Costó 5 millones de euros.{ES}", "Costó cinco millones de euros.", "es"),
        (f"Costó 5 millones de euros.{ES}", "It cost 5 million euros.", "en"),
        (f"It cost 5 million euros.{EN}", "Costó 5 millones de euros.", "es"),
        (f"Costó 3 mil millones de pesos.{ES}", "It cost 3 billion pesos.", "en"),
        (f"Cela a coûté 5 millions d’euros.{FR}", "It cost 5 million euros.", "en"),
        (f"It cost 2 billion dollars.{EN}", "Cela a coûté deux milliards de dollars.", "fr"),
        (f"Custou 2 milhões de reais.{PT}", "It cost 2 million reais.", "en"),
        (f"Custou R$ 2 bilhões.{PT}", "It cost 2 billion reais.", "en"),
        (f"It cost 2 billion reais.{EN}", "Custou dois bilhões de reais.", "pt"),
        (f"Eine Option für fünf weitere Jahre.{DE}", "Fünf Jahre kommen dazu.", "de"),
        (f"A lease of ten more years.{EN}", "It may be extended by ten years.", "en"),
        (f"Es braucht OS X 10.10 und mehr.{DE}", "Es braucht mindestens OS X 10.10.", "de"),
        (f"Es gilt ab Version 3.11.{DE}", "Es gilt erst ab Version 3.11.", "de"),
        (f"Glass threw for three goals and ran for another.{EN}", "Glass ran for a fourth.", "en"),
        (f"It cost 5 kr.{EN}", "It cost five kroner.", "en"),
        (f"It cost 30 zł.{EN}", "It cost 30 zloty.", "en"),
        (f"It cost MX$40.{EN}", "It cost 40 pesos.", "en"),
        (f"It cost NT$900.{EN}", "It cost 900 Taiwan dollars.", "en"),
        (f"It holds 20 metric tons.{EN}", "It holds 20 tons.", "en"),
        (f"It covers 12 sq km.{EN}", "It covers 12 square kilometers.", "en"),
        (f"Der 75-Jährige kam.{DE}", "Er ist 75 Jahre alt.", "de"),
        (f"Il coûte 3,5 millions d'euros.{FR}", "Il coûte trois millions et demi d'euros.", "fr"),
        (f"À 20h30, il arrive.{FR}", "À vingt heures trente, il arrive.", "fr"),
        (f"Cuesta 3,5 millones.{ES}", "Cuesta tres millones y medio.", "es"),
        (f"Custa 3,5 milhões.{PT}", "Custa três milhões e meio.", "pt"),
        (LIBRARY, "三割が若い人で、三分の一は町の人です。", "ja"),
        (LIBRARY, "本は二キロで、90年代のものです。", "ja"),
        (f"In 2020 the tour stops on July 22.{EN}", "It stops on July 22, 2020.", "en"),
        (f"Abrió en marzo, un lunes.{ES}", "It opened in March, on a Monday.", "en"),
        (f"It opened in March, on a Monday.{EN}", "Abrió en marzo, un lunes.", "es"),
        (f"C'était en mars, un lundi.{FR}", "It was in March, on a Monday.", "en"),
        (f"we open on monday in april.{EN}", "They open on Monday in April.", "en"),
        (f"The fifth and sixth runners won.{EN}", "Every second counts.", "en"),
        (f"The fifth and sixth runners won.{EN}", "First of all, have a second look.", "en"),
        (f"The fifth runner won.{EN}", "There are a thousand reasons to go.", "en"),
        (f"One in three residents was against it.{EN}", "A third of them was against it.", "en"),
        (f"It cost £4.2 million.{EN}", "Cela a coûté 4,2 millions de livres.", "fr"),
        (f"It cost £4.2 million.{EN}", "Costó 4,2 millones de libras.", "es"),
        (f"It cost 500 kronor.{EN}", "Cela a coûté 500 couronnes.", "fr"),
        (f"It cost SEK 1.3m.{EN}", "It cost 1.3 million kronor.", "en"),
        (f"They asked 90, of which a third came.{EN}", "A third of them came.", "en"),
        ("橋の長さは412mで、6%が鉄だ。", "長さは412メートルで、鉄は6パーセントです。", "ja"),
        ("市長佐伯さんが話した。", "佐伯さんが市長です。", "ja"),
        (f"It cost £4.2 million.{EN}", "費用は420万ポンドでした。", "ja"),
        (f"It fell to -12 °C.{EN}", "気温は氷点下12度でした。", "ja"),
        (
            f"Er steht auf Platz vier, vor dem ersten der anderen.{DE}",
            "Auf dem vierten Platz.",
            "de",
        ),
        (f"Das 1:0 fiel per Elfmeter (51., Rot).{DE}", "Es fiel in der 51. Minute.", "de"),
        (f"Sie gewannen mit 3:1 (0:1).{DE}", "Sie gewannen drei zu eins.", "de"),
        (f"Sie gewannen mit 3:1.{DE}", "Die Gäste verloren mit 1:3.", "de"),
        (f"Pesa 1,9 kg.{IT}", "Pesa meno di due chili.", "it"),
        (f"Pesa 3 kg.{ES}", "Pesa tres kilos.", "es"),
        (f"Dura 45 minuti.{IT}", "Dura tre quarti d'ora.", "it"),
        (f"Cela dure 15 minutes.{FR}", "Cela dure un quart d'heure.", "fr"),
        (f"Dura 45 minutos.{ES}", "Dura tres cuartos de hora.", "es"),
        (f"Es dauert 45 Minuten.{DE}", "Es dauert eine Dreiviertelstunde.", "de"),
        (f"São vendidos às quintas-feiras.{PT}", "Vende-se na quinta-feira.", "pt"),
        (CAPSULE, "探测器重约八吨。", "zh"),
        (CAPSULE, "找到了三颗珠子。", "zh"),
        (CAPSULE, "探测器重8200公斤。", "zh"),
        (f"Pesa 8.200 kg.{IT}", "Pesa 8,2 tonnellate.", "it"),
        (f"Pesa 8.200 kg.{PT}", "Pesa 8,2 toneladas.", "pt"),
        (f"It opens on September 12 or 13 there.{EN}", "It opens on September 13.", "en"),
        (f"It opens on September 12 or 13.{EN}", "It opens on September 13.", "en"),
        (f"It emits CO2.{EN}", "It emits CO2.", "en"),
        ("橋はHarlowの町にあります。", "橋はHarlowにあります。", "ja"),
    ],
)
def test_what_a_page_says_in_its_own_way_is_not_refused(
    page: str, sentence: str, language: str
) -> None:
    assert reasons(page, sentence, language) == []


@pytest.mark.parametrize(
    ("page", "sentence", "language"),
    [
        (f"It cost Q179 million.{EN}", "It cost 179 million dollars.", "en"),
        (f"It cost R50 million.{EN}", "It cost 60 million rand.", "en"),
        (f"Costó 5 millones de euros.{ES}", "Costó 6 millones de euros.", "es"),
        (f"Costó 5 millones de euros.{ES}", "Costó 5 millones de pesos.", "es"),
        (f"Abrió en marzo.{ES}", "Abrió en abril.", "es"),
        (f"Abrió un lunes.{ES}", "Abrió un martes.", "es"),
        (f"From 3 March, two workers lend 60 tools.{EN}", "Three workers lend tools.", "en"),
        ("2025年9月に橋の6%が閉鎖された。", "橋の9%が閉鎖されました。", "ja"),
        ("館長の佐伯美香さんが話した。", "館長の佐藤美香さんが話しました。", "ja"),
        (f"One in three residents was against it.{EN}", "A fifth of them was against it.", "en"),
        (f"It cost £4.2 million.{EN}", "Costó 4,2 millones de euros.", "es"),
        (f"It cost £4.2 million.{EN}", "費用は4200万ポンドでした。", "ja"),
        (f"In 2020 the tour stops on July 22.{EN}", "It stops on July 23, 2020.", "en"),
        (
            f"In 2020 the tour stops on July 22. It began in 1987.{EN}",
            "It stops on July 22, 1987.",
            "en",
        ),
        (f"Glass threw for three goals and ran for another.{EN}", "Glass threw five goals.", "en"),
        (f"Eine Option für fünf weitere Jahre.{DE}", "Sechs Jahre kommen dazu.", "de"),
        (f"Il coûte 3,5 millions d'euros.{FR}", "Il coûte deux millions et demi d'euros.", "fr"),
        (LIBRARY, "四割が若い人です。", "ja"),
        (LIBRARY, "二分の一は町の人です。", "ja"),
        (REPORT, "3人の社長がいます。", "ja"),
        (REPORT, "第2四半期の利益は2800万ドルでした。", "ja"),
        (REPORT, "利益は2900万ドルでした。", "ja"),
        (REPORT, "橋が七つあります。", "ja"),
        (REPORT, "従業員は四百人です。", "ja"),
        (
            f"Er steht auf Platz vier, vor dem ersten der anderen.{DE}",
            "Auf dem fünften Platz.",
            "de",
        ),
        (f"Das 1:0 fiel per Elfmeter (51., Rot).{DE}", "Es fiel in der 52. Minute.", "de"),
        (f"Sie gewannen mit 3:1 und haben vier Punkte.{DE}", "Sie gewannen mit 4:1.", "de"),
        (f"Sie gewannen mit 3:1 und haben vier Punkte.{DE}", "Sie gewannen vier zu eins.", "de"),
        (f"Pesa 1,9 kg.{IT}", "Pesa quattro chili.", "it"),
        (f"Dura 45 minuti.{IT}", "Dura un quarto d'ora.", "it"),
        (f"Es dauert 45 Minuten.{DE}", "Es dauert eine Viertelstunde.", "de"),
        (f"São vendidos às quintas-feiras.{PT}", "Vende-se às terças-feiras.", "pt"),
        (CAPSULE, "探测器重约六吨。", "zh"),
        (CAPSULE, "找到了八颗珠子。", "zh"),
        (CAPSULE, "有八种样品。", "zh"),
        (CAPSULE, "探测器重8100公斤。", "zh"),
        (f"Pesa 8.200 kg.{IT}", "Pesa 9,1 tonnellate.", "it"),
        (f"Pesa 8.200 kg.{PT}", "Pesa 9,1 toneladas.", "pt"),
        (f"It opens on September 12 or 13 there.{EN}", "It opens on September 14.", "en"),
        (f"It emits CO2.{EN}", "It emits CO3.", "en"),
        ("橋はHarlowの町にあります。", "橋はMarlowにあります。", "ja"),
        (f"A dose holds 5 µg of it.{EN}", "A dose holds six micrograms.", "en"),
        (f"It was dry until September 12, and 13 % were left.{EN}", "On September 13.", "en"),
        (f"It was September 12, or 13.5 degrees.{EN}", "It was on September 13.", "en"),
    ],
)
def test_what_a_page_does_not_say_is_refused_all_the_same(
    page: str, sentence: str, language: str
) -> None:
    assert reasons(page, sentence, language)


@pytest.mark.parametrize(
    "sentence",
    "2つの理由があります。 三つのポイントを見てみましょう。 二つ目の理由はこれです。 二人で話しました。 "
    "十分な時間があります。 十分に考えましょう。 第3四半期の利益は2800万ドルでした。 第三四半期に伸びました。 "
    "二度と起きないように。 億万長者になりました。 もう一つの理由です。 一番大切なことです。 第一に、大切です。 "
    "三点にまとめます。 千差万別です。 万が一に備えて。 四季を楽しむ。 一石二鳥です。 お二人とも喜びました。 "
    "2点目です。 ここで3つ紹介します。 1つずつ見ましょう。 一人ひとりが大切です。 数千人が来ました。 "
    "何百人もの人がいます。 四半期の利益です。 七転び八起きです。 十中八九そうです。 三日月が見えます。 "
    "次の3点を覚えてください。 3分で学びましょう。 二度目の挑戦です。".split(),
)
def test_what_every_japanese_script_says_is_no_figure(sentence: str) -> None:
    assert reasons(REPORT, sentence, "ja") == []


def test_the_author_and_the_date_of_a_page_are_on_it() -> None:
    page = page_from_html(
        '<html lang="en"><meta name="author" content="Ida Marlow"><meta '
        f'property="article:published_time" content="2024-03-08"><article><p>{EN * 3}</p></article>',
        "https://x.example/",
    )
    evidence = Evidence(page.text, page.head)
    assert evidence.unsupported("Ida Marlow tells the story.", "en") == []
    assert evidence.unsupported("The story appeared on 8 March 2024.", "en") == []
    assert evidence.unsupported("The story appeared on 9 March 2024.", "en")


QUOTING = """# The ferry

The line carried Ole Sand for years. Mayor Ida Solheim said the town had not been warned.

"I read about it in the newspaper," said Graham Vesterby, who runs the company.

"It was hard," he said. Tomasz Rybak nodded.

„Das Dach ist hin“, sagte Olaf Terhorst. „Unser Gutachter irrt“, rief Marlies Quandt ins Rathaus.

Noch hat Fatma Roth das nicht gelesen.

館長の沢木健一さんは「昼は畑に出ている人が多い」と話す。

農家の大野ふみさんは「ここに来るとうれしい」と言う。
"""


@pytest.mark.parametrize(
    ("sentence", "language", "stands"),
    [
        ('"I read about it in the newspaper," says Graham Vesterby.', "en", True),
        ('"I read about it," says Ida Solheim, "in the newspaper."', "en", False),
        ('"I read about it in the newspaper," says the head of the company.', "en", True),
        ('Vesterby told Solheim: "I read about it in the newspaper."', "en", True),
        ('"It was hard," Vesterby remembers.', "en", True),  # he: who spoke before
        ('"It was hard," Ole Sand remembers.', "en", False),
        ("„Das Dach ist hin“, findet Terhorst.", "de", True),
        ("Fatma Roth findet: „Das Dach ist hin.“", "de", False),
        ("沢木さんは「昼は畑に出ている人が多い」と話します。", "ja", True),
        ("大野ふみさんは「昼は畑に出ている人が多い」と話します。", "ja", False),
    ],
)
def test_a_quotation_is_given_to_who_is_named_beside_it(
    sentence: str, language: str, stands: bool
) -> None:
    of_language = {"en": EN * 6, "de": DE * 9, "ja": "町では図書館が話題になっている。" * 30}[
        language
    ]
    assert (reasons(QUOTING + of_language, sentence, language) == []) is stands


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("Here are five takeaways.", "en"),
        ("Half the battle, in the second half, was won.", "en"),
        ("In the next two minutes, we look at it.", "en"),
        ("Drei Punkte sind wichtig.", "de"),
        ("Tres cosas importantes.", "es"),
        ("Três pontos.", "pt"),
        ("Tre punti.", "it"),
    ],
)
def test_what_every_script_says_is_no_figure(sentence: str, language: str) -> None:
    assert reasons(REPORT, sentence, language) == []


@pytest.mark.parametrize(
    ("head", "scale"),
    [("(in thousands)", "thousand"), ("($m)", "million"), ("$bn", "billion"), ("(bn)", "billion")],
)
def test_the_head_of_a_table_tells_of_how_many_its_numbers_are(head: str, scale: str) -> None:
    page = f"| Revenue {head} | 3.4 |{EN}"
    assert reasons(page, f"Revenue was 3.4 {scale} dollars.", "en") == []
    assert reasons(page, f"Revenue was 4.3 {scale} dollars.", "en")
    assert reasons(page, "Revenue was 3.4 trillion dollars.", "en")


@pytest.mark.parametrize(
    ("page", "sentence", "language"),
    [
        (FR, "La largeur est de 12,5 m.", "fr"),
        (FR, "Cela coûtera 3,4 M€.", "fr"),
        (FR, "Voici trois aspects.", "fr"),
        (PT, "Foi nos anos 1950.", "pt"),
        (IT, "I lavori iniziano alle 7:30.", "it"),
        (NL, "Het was in de jaren vijftig.", "nl"),
        (NL, "Dit zijn drie dingen om te weten.", "nl"),
        (EN, "There is a fifty-fifty chance that you know it.", "en"),
        (EN, "It is a 24/7 job.", "en"),
        (DE, "Das geht in null Komma nichts.", "de"),
    ],
)
def test_short_forms_decades_and_sayings_are_read_in_their_languages(
    page: str, sentence: str, language: str
) -> None:
    facts = {
        "fr": "Il mesure 12,5 mètres et coûte 3,4 millions d'euros.",
        "it": "I lavori iniziano lunedì alle 7.30.",
    }
    page = facts.get(language, "1957.") + page
    assert reasons(page, sentence, language) == []
    if language == "fr":
        assert reasons(page, "Cela coûtera 3,5 M€.", "fr")
