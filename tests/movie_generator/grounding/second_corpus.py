"""Twenty more pages, written before the check had seen them.

At first sight, none of the 60 planted facts passed, and 6 of the 76 truths were refused (7.9 %). What
was wrong about those six has been put right since, so that this figure is no longer a blind one.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.movie_generator.grounding.corpus import Case

_PAGES = """
Bakers of Brno have a new rival. Petra Novotna opened her shop on 12 May 2019 with 3 ovens and a loan of 450,000 crowns.
Today she sells 1,800 loaves a week, a fifth of them to restaurants. "Flour forgives everything but hurry," says Novotna.
+ Petra Novotna opened her shop in the spring of 2019.
+ She borrowed 450,000 crowns to begin.
+ Today, some eighteen hundred loaves leave the shop each week.
+ Twenty percent of them go to restaurants.
- She began with five ovens.
- Petra Svoboda opened the shop.
- Today she sells 1,800 loaves a day, worth 900 crowns.
===
# Tidal power at Skerry Sound
The first turbine went into the water in June 2008. Each of the four rotors is 18 m across and yields 1.5 MW.
Over ten years the plant saved 62,000 tonnes of CO2, says Dr Fiona MacRae of the Marine Energy Trust.
+ Since the summer of 2008, turbines have turned at Skerry Sound.
+ Each rotor measures eighteen metres and gives one and a half megawatts.
+ MacRae says that sixty-two thousand tonnes of carbon dioxide were saved.
+ Four giant rotors turn with the tide.
- Each rotor measures 18 feet.
- The plant saved 26,000 tonnes of CO2.
- Fiona Campbell leads the trust.
===
Q: How deep is Lake Orsa? A: 143 metres at its deepest point, near Kallvik. Its area is 52 km². In winter the ice reaches 80 cm.
Q: When was it first mapped? A: In 1742, by the monk Brother Anselm.
+ Lake Orsa is 143 metres deep.
+ The ice grows to eighty centimetres in winter.
+ Brother Anselm drew the first map in the middle of the eighteenth century.
+ It covers fifty-two square kilometres.
- It covers fifty-two square miles.
- Brother Benedict drew the first map.
- It was mapped in 1724.
===
Minutes of 7 October 2022. Present: Aoife Byrne (chair), Samuel Adeyemi, Lena Vogt. The budget of $1.35 million was passed by 9 votes to 2.
The library will open on Sundays from 10:00 to 16:00. Next meeting: 4 November.
+ Chaired by Aoife Byrne, the council passed its budget.
+ Nine members voted for it, and two against.
+ The next meeting is on November 4th.
+ On Sundays, the library opens from ten in the morning until 4 p.m.
- The budget passed by 8 votes.
- The budget of 1.53 million dollars was passed.
- The next meeting is on 14 November.
===
The comet C/1911 was found by Hideo Morita with a 15-centimetre telescope. It returns every 76 years; in 1987 it came within 0.42 astronomical units.
+ Hideo Morita found the comet with a telescope of only fifteen centimetres.
+ Every seventy-six years, it comes back.
+ In 1987, Morita's comet returned.
- It returns every 67 years.
- The comet was found by Hideo Nakamura.
- In 1978 the comet returned.
===
# Chess in Dunmore
The club has 64 members, 22 of them under eighteen. Its best player, Ravi Menon, reached a rating of 2,411 in March 2020. Subscription: £35 a year.
+ Sixty-four people belong to the club, and twenty-two of them are not yet eighteen.
+ Menon reached 2411 points in the spring of 2020.
+ Membership costs thirty-five pounds a year.
- Membership costs 35 euros a year.
- The club has 46 members.
- Its best player is Arjun Pillai.
===
The Grand Hotel burned on the night of 31 December 1899. 212 guests escaped; the porter, Emil Brandt, carried out seven. Damage came to two million marks.
"I counted the steps, not the flames," he told the Morning Courier.
+ On New Year's Eve of 1899, the Grand Hotel burned.
+ More than two hundred guests got out alive.
+ Emil Brandt saved seven people.
+ "I counted the steps, not the flames," the porter said later.
- Emil Brandt saved eleven people.
- "I thought of my children," the porter said later.
- Damage came to three million marks.
===
# Honey prices
| Year | EUR/kg | Harvest (t) |
| 2020 | 7.20 | 410 |
| 2021 | 8.90 | 295 |
Cold springs are to blame, says beekeeper Marta Nowak of Lublin.
+ In 2020, a kilo of honey cost 7.20 euros.
+ By 2021, the price was 8.90 euros.
+ The harvest fell from 410 tonnes to 295.
+ Marta Nowak blames cold springs.
- In 2022, the price rose again.
- The harvest fell to 259 tonnes.
- Beekeeper Ewa Nowak blames cold springs.
===
Engineers of Kestrel Air tested the glider X-7 over the Mojave Desert. It flew 9 hours at 240 km/h and climbed to 21,000 feet. Test pilot: Captain Dana Whitlock.
+ Whitlock flew the glider for nine hours.
+ It reached twenty-one thousand feet above the Mojave.
+ At 240 kilometres per hour, it is no racer.
- It flew 19 hours.
- It climbed to 21,000 metres.
- Pilot Karen Holloway flew it.
===
The village choir of Santa Lucia has sung every Good Friday since 1653. Its 40 singers wear white. Conductor Paolo Ferri, 71, took over from his uncle in 1988.
+ For centuries, since 1653, the choir has sung on Good Friday.
+ Forty singers, all in white, take part.
+ Ferri has conducted them since 1988.
+ The conductor is seventy-one years old.
- The conductor is eighty-one years old.
- Conductor Marco Ferri leads them.
- The choir has sung since 1635.
===
Researchers at the University of Oulu fitted 58 reindeer with collars. The animals walked 5.2 km a day in summer, and half of that in winter. Funding: Arctic Council.
+ Fifty-eight reindeer wore collars.
+ In summer they walk 5.2 kilometres every day.
+ Money came from the Arctic Council.
+ In winter, the animals walk only half as far.
- In summer they walk 5.2 miles every day.
- Researchers from Uppsala fitted the collars.
- Eighty-five reindeer wore collars.
===
Ticket sales for "The Glass Orchard" passed one million on 3 August. Director Noor Rahimi shot it in 23 days for under $600,000. It won the Silver Heron in Locarno.
+ Rahimi shot the film in only twenty-three days.
+ In August, sales passed a million.
+ "The Glass Orchard" won a prize in Locarno.
+ It cost less than 600,000 dollars.
- "The Iron Orchard" won a prize in Locarno.
- It won the prize in Venice.
- Rahimi shot it in thirty-two days.
===
Die Brauerei Lorenz in Bamberg braut seit 1718. Heute leitet Katharina Lorenz den Betrieb mit 34 Mitarbeitern. Im Jahr 2023 verkaufte sie 12.500 Hektoliter, 8 % mehr als zuvor.
+ Seit 1718 wird bei Lorenz Bier gebraut.
+ Vierunddreißig Menschen arbeiten dort.
+ Der Absatz stieg um acht Prozent.
+ Im Jahr 2023 waren es 12500 Hektoliter.
- Seit 1781 wird dort Bier gebraut.
- Der Absatz stieg um 18 Prozent.
- Dreiundvierzig Menschen arbeiten dort.
===
Le musée de Saint-Aubin a rouvert le 14 juin 2021 après 18 mois de travaux. La directrice, Camille Besson, y montre 320 toiles. Entrée : 9 euros.
+ Le musée a rouvert en juin 2021.
+ Les travaux ont duré dix-huit mois.
+ On y voit trois cent vingt toiles.
+ L'entrée coûte neuf euros.
- Les travaux ont duré vingt mois.
- La directrice est Camille Durand.
- L'entrée coûte 19 euros.
===
富士見町の図書館は1974年に建てられた。蔵書は約12万冊で、毎日350人が訪れる。館長の小林誠さんは「本は静かな友だちです」と語った。
+ 図書館は1974年に建てられました。
+ 蔵書は12万冊ほどあります。
+ 毎日350人の人が訪れています。
+ 小林さんは「本は静かな友だちです」と語りました。
- 蔵書は21万冊あります。
- 毎日530人が訪れています。
- 館長の高橋さんが案内してくれます。
===
Rain fell on Port Ellery for 19 days in April 2018: 412 mm, three times the average. Mayor Grace Tembo closed two schools. The river Nambe rose by 4.6 metres.
+ For nineteen days, it rained on Port Ellery.
+ The Nambe rose by more than four metres.
+ Mayor Tembo closed two schools.
+ Three times the usual amount fell.
- The Nambe rose by 6.4 metres.
- In May 2018, it rained for nineteen days.
- Mayor Phiri closed two schools.
===
Inventor Oskar Lindqvist patented the paper zip on 9 February 1931. He sold it to the Halden Company for 15,000 kronor, and died poor in 1944, aged 58.
+ Lindqvist patented his zip in February 1931.
+ The Halden Company paid him fifteen thousand kronor.
+ He died in 1944, at the age of fifty-eight.
+ Thirteen years later, he died poor.
- The Halden Company paid him 50,000 kronor.
- He died in 1954.
- Oskar Berggren patented the zip.
===
The Kalu Pass lies at 4,730 metres. Buses take 11 hours from Leh; in 2016 the Border Roads Organisation (BRO) widened 87 km of the road.
+ The BRO widened eighty-seven kilometres of road.
+ From Leh, the bus takes eleven hours.
+ At 4,730 metres, the air is thin.
- From Manali, the bus takes eleven hours.
- The pass lies at 4,370 metres.
- The bus takes 21 hours.
===
A survey of 2,000 parents by the Reading Agency found that 3 in 5 read aloud daily. "Ten minutes is enough," said its head, Joanna Pike. In 2012 the share was 48%.
+ Two thousand parents were asked.
+ Three in five read aloud every day.
+ In 2012, it was forty-eight percent.
+ Joanna Pike says: "Ten minutes is enough."
- Four in five read aloud every day.
- "An hour is not enough," said Pike.
- In 2012, it was 84 percent.
===
Workshop rules. Bolts: tighten to 25 newton-metres. Oil: change every 10,000 km or 12 months. Tyres: 2.3 bar. Ask Stefan Moll before you use the lift.
+ Change the oil every ten thousand kilometres.
+ Tyres need 2.3 bar.
+ Before you use the lift, ask Stefan Moll.
+ Once a year, or every twelve months, the oil is due.
- Change the oil every 10,000 miles.
- Tyres need 3.2 bar.
- Before you use the lift, ask Stefan Krull.
"""


def cases() -> Iterator[Case]:
    """The pages with three false statements each."""
    yield from cases_of(_PAGES)


def cases_of(pages: str) -> Iterator[Case]:
    """What a text of pages says: lines after `+ ` are true of the page above them, those after `- ` false."""
    for block in pages.strip().split("\n===\n"):
        lines = block.splitlines()
        page = "\n".join(it for it in lines if not it.startswith(("+ ", "- ")))
        true = tuple(it[2:] for it in lines if it.startswith("+ "))
        false = tuple(it[2:] for it in lines if it.startswith("- "))
        yield Case(lines[0][:30], page, true, false)
