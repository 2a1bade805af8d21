"""Whether a number is below zero: what a narration says of it, and what the page does."""

from __future__ import annotations

import pytest

from movie_generator.grounding.evidence import Evidence

GERMAN = "Es war ein Tag in der Stadt, und es war mit dem Wind nicht warm: "
FRENCH = "Il faisait un temps de la saison dans la ville et sur les collines, "
SPANISH = "La temperatura de la ciudad era la que se dio para el valle: "


def refused(page: str, sentence: str) -> bool:
    return any(it.startswith("number") for it in Evidence(page).unsupported(sentence))


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("It was 12 °C.", "It was minus 12 degrees."),
        ("It was 12 °C.", "It was -12 °C."),
        ("It was 12 °C.", "It was \N{MINUS SIGN}12 °C."),
        ("It was 12 °C.", "It was \N{EN DASH}12 °C."),
        ("It was 12 °C.", "It was twelve degrees below zero."),
        ("It was 12 °C.", "The thermometer sank to minus twelve."),
        ("It was 3 degrees.", "The thermometer sank to minus three."),
        ("It was -12 °C.", "It was 12 °C."),
        ("It was \N{MINUS SIGN}12 °C.", "It was twelve degrees Celsius."),
        ("It was \N{EN DASH}12 °C.", "There was a low of 12 degrees."),
        ("It was -12°.", "It was twelve degrees."),
        ("It was minus twelve degrees.", "It was 12 °C."),
        ("| Min | -12 °C |\n| Max | 9 °C |", "The low was 12 °C."),
        ("| Min | -12 °C |\n| Max | 9 °C |", "It rose to minus nine degrees."),
        ("It lay between -12 °C and -5 °C.", "It was 12 °C."),
        ("Store it between 2 °C and 8 °C.", "Store it at minus eight degrees."),
        (GERMAN + "12 Grad.", GERMAN + "minus zwölf Grad."),
        (GERMAN + "12 Grad.", GERMAN + "zwölf Grad unter null."),
        (GERMAN + "-12 °C.", GERMAN + "zwölf Grad."),
        (FRENCH + "12 degrés.", FRENCH + "moins 12 degrés."),
        (SPANISH + "12 grados.", SPANISH + "12 grados bajo cero."),
        ("その日の気温は12度でした。", "その日の気温は氷点下12度でした。"),
        ("その日の気温は-12℃でした。", "その日の気温は12度でした。"),
    ],
)
def test_a_temperature_may_not_be_on_the_other_side_of_zero(page: str, sentence: str) -> None:
    assert refused(page, sentence)


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("It was 12 °C.", "It was twelve degrees."),
        ("It was \N{MINUS SIGN}12 °C.", "It was minus 12 °C."),
        ("It was \N{EN DASH}12 °C.", "It was twelve degrees below zero."),
        ("It was - 12 °C.", "It was minus 12 °C."),
        ("(-12 °C)", "It was minus 12 degrees."),
        ("Twelve degrees of frost were measured.", "It was minus 12 degrees."),
        ("Wind chills as low as 22 below zero.", "Wind chills of minus 22."),
        ("It was \N{MINUS SIGN}12 to \N{MINUS SIGN}5 °C.", "Minus 12 to minus 5 degrees."),
        ("It was minus 5 to 12 degrees.", "It went down to minus 12 degrees."),
        ("Highs of 12 °C; lows of -12 °C.", "Highs of 12 °C, lows of minus 12."),
        ("For use at -20 °C to 45 °C.", "It works from minus 20 to 45 degrees."),
        ("Store it frozen (-18 °C).", "Freeze it at minus eighteen degrees."),
        (GERMAN + "-12 °C.", GERMAN + "zwölf Grad unter null."),
        (FRENCH + "-12 °C.", FRENCH + "moins 12 degrés."),
        (FRENCH + "12 degrés.", FRENCH + "au moins 12 degrés."),
        (SPANISH + "-12 °C.", SPANISH + "doce grados bajo cero."),
        ("その日の気温は氷点下12度でした。", "その日の気温はマイナス12度でした。"),
    ],
)
def test_the_same_temperature_may_be_written_in_other_ways(page: str, sentence: str) -> None:
    assert not refused(page, sentence)


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("- 12 °C at dawn\n- 3 °C at noon", "It was 12 °C at dawn."),
        ("- 12 °C at dawn\n- 3 °C at noon", "It was minus 12 °C at dawn."),
        ("It was 5\N{EN DASH}12 °C.", "It was between 5 and 12 degrees."),
        ("It was 5 \N{EN DASH} 12 °C.", "It was between 5 and 12 degrees."),
        ("It was 10 °C \N{EN DASH}12 °C.", "It was between 10 and 12 degrees."),
        ("It was 10 °C-12 °C.", "It was 12 °C at most."),
        ("It was 10°-12 °C.", "It was 12 °C at most."),
        ("It was 12 °C.", "It was mild - 12 degrees."),
        ("It was 12 °C.", "It was mild \N{EM DASH}12 degrees \N{EM DASH}that day."),
        ("Fly the A-12 or the U-2.", "The A-12 and the U-2 fly."),
        ("It was on 2024-12-05.", "It was on 5 December 2024."),
        ("Call 555-1234 or +47-12-345.", "The number is 555-1234."),
        ("There were T-12 minutes left.", "It was T-minus 12 minutes."),
    ],
)
def test_not_every_dash_is_a_minus(page: str, sentence: str) -> None:
    assert not refused(page, sentence)


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("The air got colder: -12 °C.", "The air got colder by 12 °C."),
        ("Revenue | -12 %", "Revenue fell by 12 %."),
        ("Revenue fell by 12 %.", "Revenue: minus 12 percent."),
        ("The winner gets 500 crowns, less 50 crowns.", "The winner gets 500 crowns minus 50."),
        ("They were docked 2 points.", "That is minus two points."),
        ("It is 12 °C, 5 °C either way.", "It is 12 degrees, plus or minus 5 degrees."),
        ("The island lies at -33.9 degrees.", "The island lies 33.9 degrees south."),
    ],
)
def test_what_is_less_is_not_below_zero(page: str, sentence: str) -> None:
    assert not refused(page, sentence)
