"""Ten pages, and narrations as somebody would chat about them.

At first sight, after what the third had shown was put right, 7 of the 50 truths were refused (14 %),
and 1 of the 30 planted facts passed.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.movie_generator.grounding.corpus import Case
from tests.movie_generator.grounding.second_corpus import cases_of

_PAGES = """
# The town that bought its own pub
When the Black Swan in Thornby closed in May 2019, 312 villagers raised £287,500 in eleven weeks to buy it. Shares started at £50. Landlady Bridget Omondi pulled the first pint on 20 December.
Since then it has added a post office, a repair café and a Thursday soup kitchen that feeds about 45 people. Last year it made a profit of £9,140.
"You can't download a pub," said Omondi. The Plunkett Foundation counts 180 such pubs in the UK.
+ Okay, so get this: their local shut down, and what did the folks in Thornby do? They bought the thing!
+ In under three months, they scraped together nearly three hundred thousand quid. I mean, wow.
+ And just before Christmas, on December 20th, Bridget pulled that very first pint.
+ Or, as she puts it, "You can't download a pub." True!
+ Thursdays are soup days, by the way, and some forty-five people turn up.
- They scraped together half a million pounds.
- Shares started at eighty pounds.
- In the Black Swan, Gary pulled the first pint.
===
# Voyager's golden record
NASA launched Voyager 2 on August 20, 1977, and Voyager 1 sixteen days later. Each carries a gold-plated copper disk, 12 inches across, with greetings in 55 languages, 115 images and 90 minutes of music, from Bach to Chuck Berry's "Johnny B. Goode".
A committee led by Carl Sagan of Cornell University chose the contents in under a year. Ann Druyan's brain waves are on it, too. Voyager 1 is now over 15 billion miles away; in about 40,000 years it will pass within 1.6 light-years of the star Gliese 445.
+ Hey, remember mixtapes? Well, Carl Sagan and his buddies made one for aliens.
+ There's Bach on it, there's Chuck Berry, and hellos in fifty-five languages. Not bad for a foot-wide disc!
+ Both Voyagers took off in the summer of '77, a bit more than two weeks apart.
+ So when does it get anywhere? Well, hang on for forty thousand years, and it'll swing by a star called Gliese 445.
+ Oh, and Druyan's brain waves? Yup, they're on there as well.
- There are hellos in sixty-five languages.
- There's an hour and ten minutes of music, and it's by Elvis Presley.
- Voyager 1 is over fifteen billion kilometres away.
===
# Sourdough for the impatient
Makes 1 loaf. Mix 450 g strong white flour, 320 ml warm water, 100 g active starter and 9 g salt. Rest 30 minutes, then stretch and fold four times, every half hour.
Leave at 24 °C for 3 hours. Shape, and prove overnight in the fridge (8 to 16 hours). Heat a cast-iron pot to 240 °C. Bake 25 minutes with the lid on, 18 without. Cool for an hour before you slice it - baker Tom Adeyinka swears by two.
+ Right, sleeves up, we're making bread! You'll want four hundred and fifty grams of flour and a good hundred of starter.
+ Give it half an hour, then stretch it, fold it, and do that four times in total.
+ Now it's bedtime: pop it in the fridge and forget about it for eight hours or more.
+ Get your pot screaming hot, I'm talking two-forty. Twenty-five minutes, lid on.
+ Can I eat it now? No! Tom says wait two hours. Well, one will do.
- Now add nineteen grams of salt.
- Leave it at 34 degrees for three hours.
- Baker Jerry Adeyinka swears by two hours.
===
# Luggage mix-up reunites sisters after 41 years
By Carmen Delgado, Chicago Daily Post, Oct. 2, 2018
Two women who picked up each other's suitcase at O'Hare on Sept. 14 turned out to be sisters. Rosa Benitez, 52, of Milwaukee, and Teresa Kowalski, 49, of Tucson, Ariz., were separated in 1977 after their mother died in El Paso.
Both had tied a yellow ribbon to a green Samsonite. "I opened it and saw my mother's face in a frame," Benitez said. A DNA test came back on Sept. 26 with a 99.8% match. They'll spend Thanksgiving together in Arizona.
+ You won't believe this one. Two ladies at O'Hare grab the wrong suitcase, and bam: they're sisters.
+ Rosa's fifty-two, Teresa's forty-nine, and they hadn't seen each other in forty-one years.
+ Same green Samsonite, same yellow ribbon. I've got goosebumps!
+ "I opened it and saw my mother's face in a frame," Rosa told the Chicago Daily Post.
+ And the DNA? Almost a hundred percent. So guess who's having Thanksgiving together, down in Arizona.
- They were separated in 1979.
- "I always knew I had a sister," Rosa said.
- Two ladies at LaGuardia grab the wrong suitcase.
===
# Electric ferry MF Lyngen: one year on
Since 3 February 2021, the battery ferry MF Lyngen has crossed the Storfjord 34 times a day. The boat is 83 m long, carries 120 cars and 296 passengers, and makes 11 knots. Its 1,600 kWh batteries charge in nine minutes at each quay.
The operator Nordferje in Tromsø says it has saved 4,700 tonnes of CO2 and 60 percent of the fuel bill. Captain Silje Aune likes the quiet: "Now I hear the passengers complain," she jokes. A second ship is due in 2024.
+ Picture a ferry, a proper big one, a hundred and twenty cars and all. Now picture it without the noise.
+ Plug in, wait nine minutes, off you go. Beats my phone, honestly.
+ Captain Aune's got jokes, too: "Now I hear the passengers complain."
+ They reckon it's saved nearly five thousand tonnes of CO2. Three fifths of the fuel bill, gone!
+ One's not enough, of course, so in 2024 they're getting a second.
- It crosses the fjord forty-three times a day.
- Captain Ingrid Aune has got jokes.
- The boat is eighty-three feet long.
===
# Patch notes: Hollow Harbor 1.7 "Low Tide"
Released Nov 8. New map Saltmarsh (up to 24 players), two weapons, and the diving bell. The harpoon now deals 40 damage instead of 55 and reloads in 1.8 seconds.
Fixed: crash when a crab entered the elevator; Steam Deck battery drain (about 20% less). Ranked Season 3 ends Nov 30. Download size: 6.3 GB on PC, 9.1 GB on PlayStation 5. Thanks to our 212,000 Discord members. - Mika, community lead at Pale Lantern Games
+ What's up, everybody? Low Tide's finally out, so let's dive in. Literally, 'cause there's a diving bell now.
+ Saltmarsh is the new map, two dozen players max.
+ Sorry, harpoon fans: you're down from fifty-five damage to forty. Ouch.
+ And no, crabs won't crash your elevator anymore. Thanks, Mika!
+ On PC it's a bit over six gigs, on PS5 it's nine. Oh, and Season Three wraps up on the last day of November.
- It reloads in 2.8 seconds.
- On PC it's six hundred megabytes.
- Ranked Season 3 ends on November 20.
===
# Ida Grauman, the woman who timed the trains
Ida Grauman (1861-1940) was a Swiss-American watchmaker. Born in Biel, she came to Cincinnati at 22 with $14 and her father's tools. In 1893 she won the contract to keep 1,150 clocks of the Ohio Valley Railroad within four seconds a week.
She trained 31 apprentices, 19 of them women. President Taft gave her a medal in 1910. Her workshop at 88 Vine Street is a museum; it is open Wednesday to Sunday, and admission is free.
+ Let me tell you about Ida. Twenty-two, fresh off the boat from Switzerland, fourteen bucks in her pocket.
+ Ten years later? She's got over a thousand railroad clocks to look after, and she keeps 'em within four seconds a week!
+ Most of her apprentices, nineteen out of thirty-one, were women. In the eighteen nineties, mind you.
+ Even the president, Taft, gave the lady a medal.
+ If you're ever in Cincinnati, drop by on a Sunday. It's on Vine Street and it won't cost you a dime.
- Even President Roosevelt gave her a medal.
- She trained fifty-one apprentices.
- Drop by on a Monday.
===
# Stadtbad Nordhain: Sanierung wird teurer
Nordhain, 22. August 2022. Die Sanierung des Stadtbads kostet statt 6,4 nun 9,2 Millionen Euro. Das teilte Baustadträtin Miriam Löffler (Grüne) am Montag mit. Grund sind 340 Quadratmeter feuchte Wände.
Die Wiedereröffnung verschiebt sich um 14 Monate auf Dezember 2024. Der Schwimmverein Hecht mit seinen 870 Mitgliedern weicht nach Altenried aus. „Wir schwimmen jetzt eben gegen den Strom“, sagt Trainer Jonas Wiebe.
+ Na, wer von euch war schon mal im Stadtbad? Tja, so bald wird das nichts mehr.
+ Erst hieß es gut sechs Millionen, jetzt sind es über neun. Autsch!
+ Vierzehn Monate länger dauert's auch noch, also bis Dezember 2024.
+ Und die achthundertsiebzig Leute vom Verein? Die fahren halt nach Altenried.
+ Trainer Wiebe nimmt's mit Humor: „Wir schwimmen jetzt eben gegen den Strom.“
- Und die siebenhundertachtzig Leute vom Verein?
- Das Bad öffnet im Oktober 2024.
- Trainer Jonas Krause nimmt es mit Humor.
===
# Le dernier rémouleur de Nantes
À 68 ans, Marcel Kervella aiguise encore les couteaux des Nantais, sur un vélo de 1954 hérité de son père. Il fait 25 kilomètres par jour, du mardi au samedi, et prend 4 euros par lame. Ils étaient 60 à exercer le métier en 1970.
« Un couteau qui ne coupe pas, c'est un menteur », répète-t-il. Sa petite-fille Louane, 23 ans, apprend à ses côtés depuis mars 2022.
+ Bon, je vous présente Marcel, soixante-huit ans, et franchement, il a la pêche !
+ Son vélo ? Il date de 1954, c'était celui de son papa.
+ Vingt-cinq kilomètres par jour, vous imaginez ? Et quatre euros la lame, c'est donné.
+ Sa phrase préférée, c'est : « Un couteau qui ne coupe pas, c'est un menteur. »
+ Et devinez quoi : depuis mars 2022, Louane, sa petite-fille, s'y met aussi.
- Il fait trente-cinq kilomètres par jour.
- Son vélo date de 1945.
- Sa petite-fille, Manon, apprend à ses côtés.
===
# Los olivos milenarios de Sant Jordi
En el Maestrazgo hay 4.960 olivos de más de mil años. El más viejo, la Farga, fue plantado en el año 314, según la Universidad Politécnica de Madrid. Su tronco mide 8 metros de perímetro.
La cooperativa, presidida por Amparo Querol, vende el aceite a 28 euros el medio litro; el 70 % va a Japón. «Este árbol ha visto pasar a los romanos», dice Querol. La cosecha de 2022 cayó un 45 % por la sequía.
+ A ver, ¿cuántos años le echas a este árbol? Pues fue plantado en el año 314, ¡casi nada!
+ Y no está solo, qué va: hay casi cinco mil olivos así en el Maestrazgo.
+ Abrazarlo no es fácil, porque el tronco mide ocho metros.
+ ¿Y el aceite? Veintiocho euros el medio litro, y el setenta por ciento se va a Japón.
+ «Este árbol ha visto pasar a los romanos», nos cuenta Amparo. Y tiene razón, oye.
- El cincuenta por ciento se va a Japón.
- Su tronco mide dieciocho metros.
- La cosecha de 2022 cayó un 55 %.
"""


def cases() -> Iterator[Case]:
    """The pages with three false statements each."""
    yield from cases_of(_PAGES)
