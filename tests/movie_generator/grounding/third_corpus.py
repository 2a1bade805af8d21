"""Twenty pages of many kinds, and narrations as a script writer would put them.

At first sight, 25 of the 100 truths were refused (25 %), and 4 of the 60 planted facts passed. Much of
that was of general kinds and has been put right since, so that these figures are no longer blind.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.movie_generator.grounding.corpus import Case
from tests.movie_generator.grounding.second_corpus import cases_of

_PAGES = """
# Dam at Corrigan Lake drained after crack is found
By Helen Abara, Friday 17 March 2023, 18:05 GMT
About 4,200 people were told to leave their homes in Lower Tarn on Thursday night after engineers found a 14-metre crack in the dam above the town.
The Environment Agency said water was being released at 35 cubic metres per second. The level had fallen by 2.7 metres by Friday noon.
"We would rather apologise for a false alarm than for a flood," said Chief Inspector Raj Malhotra of West Tarn Police. The dam was built in 1871 and last inspected in November 2021.
Residents are being housed in St Brigid's School and at the Corrigan Leisure Centre. The agency expects repairs to cost between £6m and £8m and to take until the autumn.
+ Imagine being told, late on a Thursday night, that you have to leave your home. That's what happened to more than four thousand people in Lower Tarn.
+ Engineers had spotted a crack fourteen metres long. And the dam? It dates from 1871.
+ By noon on Friday, the lake had dropped by nearly three metres.
+ Inspector Malhotra put it plainly: "We would rather apologise for a false alarm than for a flood."
+ Repairs could cost as much as eight million pounds, and won't be done before autumn.
- Engineers had spotted a crack forty metres long.
- The dam was last inspected in November 2012.
- Residents are being housed in St Patrick's School.
===
# Honeybees count to four, and sometimes to zero
Published in Current Insect Science, 8 February 2022
A team led by Dr Annika Sørensen at Aarhus University in Denmark trained 14 honeybees (Apis mellifera) to choose the card with fewer shapes. After 60 trials the insects were right 74.2% of the time.
When one of the cards was blank, bees chose it in 64% of tests (p < 0.01), which suggests that they rank nothing below one. Co-author Prof. Luis Ibarra of the University of Chile calls it "a brain of under a million neurons doing what children learn at four".
The work was funded by the Danish Research Council with 3.1 million kroner. The next experiment will use bumblebees.
+ Can an insect count? Danish scientists think so.
+ Sørensen's team trained fourteen bees to pick the card with fewer shapes on it.
+ Roughly three times out of four, the bees got it right.
+ Chilean co-author Luis Ibarra marvels at "a brain of under a million neurons".
+ Nearly two thirds of the time, the bees picked the blank card. Zero, it seems, is less than one.
- Sørensen's team trained forty bees.
- The bees were right 84 percent of the time.
- Norwegian scientists led the study.
===
# Rovers snatch it in the 89th minute
Hartwell Rovers 3-2 Milford Town (half-time 1-2). Attendance: 11,467
Substitute Deshawn Pryce headed home a corner from Kieran O'Leary with a minute to go to send Rovers top of the Northern League, two points clear of Ashby United.
Milford led twice through Tomasz Zielinski (12, 41). Captain Mark Eastwood had levelled from the penalty spot on 23 minutes and again with a free kick from 25 yards in the 67th.
Manager Sue Fairclough, in charge since July, said: "I've aged ten years in ninety minutes." Milford's goalkeeper Ilya Petrenko was booked. Rovers visit Ashby next Saturday.
+ What a finish! With just a minute left on the clock, Deshawn Pryce heads Rovers into the lead.
+ Three goals to two, in front of more than eleven thousand fans.
+ Milford were ahead at half-time, thanks to two goals from Zielinski.
+ "I've aged ten years in ninety minutes," sighed Fairclough afterwards.
+ Rovers now lead the Northern League by two points. Next up: Ashby, on Saturday.
- Milford won by three goals to one.
- Eastwood scored with a free kick from 35 yards.
- Manager Sue Fairclough said: "We never doubted it for a second."
===
# Gran's lemon drizzle loaf
Serves 8 | Prep 20 mins | Bake 45-50 mins
225g unsalted butter, softened; 225g caster sugar; 4 eggs; 225g self-raising flour; zest of 2 lemons. For the drizzle: juice of 1½ lemons, 85g icing sugar.
Heat the oven to 180C/160C fan/gas 4. Line a 2lb loaf tin. Beat butter and sugar until pale, about 5 minutes. Add the eggs one at a time. Sift in the flour, stir in the zest.
Bake until a skewer comes out clean. Prick all over while warm and pour on the drizzle. Keeps for 3-4 days in a tin, or freeze for up to 1 month.
+ Let's bake! Heat your oven to one hundred and eighty degrees, or one-sixty if it has a fan.
+ Start with 225 grams of butter and just as much sugar, and beat them for around five minutes.
+ Crack in four eggs, one by one.
+ Now for the drizzle: the juice of one and a half lemons and eighty-five grams of icing sugar.
+ After three quarters of an hour, check with a skewer. Don't worry if it needs five minutes more.
- Heat your oven to two hundred degrees.
- Crack in six eggs, one by one.
- You can freeze it for up to three months.
===
# Marguerite Delacroix-Hale (1889–1967)
Marguerite Delacroix-Hale was a French-born American aviator and cartographer. Born in Lyon on 3 October 1889, the second of five children of a silk merchant, she emigrated to Boston in 1908.
She learned to fly in 1913 under Harlan Voss and was the third woman in the United States to hold a licence. Between 1921 and 1934 she photographed 118,000 square miles of the Yukon from the air; her Atlas of the Upper Yukon (1936) remained in print for 40 years.
In 1929 she married the geologist Edwin Hale; they had a daughter, Odile. She received the Gold Medal of the Royal Cartographic Society in 1938. She died in Seattle of pneumonia on 22 January 1967, aged 77.
+ Lyon, October 1889. A silk merchant's second child is born: Marguerite.
+ At about nineteen, she left France for America and settled in Boston.
+ In her early twenties, in 1913, Harlan Voss taught her how to fly.
+ For thirteen years, Delacroix-Hale photographed the Yukon from above. Her atlas came out in 1936, and stayed in print for four decades.
+ Mrs Hale died in Seattle, at seventy-seven, in the winter of 1967.
- She married the geologist Edwin Hale in 1939.
- She was the first woman in the United States to hold a licence.
- She received the Gold Medal of the National Geographic Society.
===
# Lumora Trail 2 headlamp review
Price: $64.95. Weight: 86 g with battery. Max output: 450 lumens. Runtime: 5 h (high), 120 h (low). Waterproof: IP67. Charging: USB-C, 2 h 10 min.
We carried the Trail 2 for six weeks in the Dolomites. The red mode is kind to tent mates, and the beam reached 95 metres in our test, not the 110 m that Lumora promises.
It is 12 g lighter than the BrightPeak Nova and $15 cheaper. What we did not like: the strap slips when wet, and the button is hard to find with gloves. Our rating: 4 out of 5.
+ You're high up in the Dolomites, it's dark, and your headlamp has to work. Meet the Trail 2.
+ It's under ninety grams and costs just under sixty-five dollars.
+ Lumora promises a beam of a hundred and ten metres. Reviewers measured ninety-five.
+ On low, it shines for one hundred and twenty hours: that's five full days.
+ Compared with BrightPeak's Nova, you save fifteen bucks. Four stars out of five!
- On low, it shines for two hundred hours.
- It weighs 86 ounces.
- Compared with Petzl's Nova, you save fifteen dollars.
===
# Two days in Porto
Start at São Bento station, whose hall is covered with some 20,000 tiles painted by Jorge Colaço between 1905 and 1916. Entry is free.
Cross the upper deck of the Dom Luís I Bridge (1886), 45 m above the Douro, to the port lodges of Vila Nova de Gaia. A tasting at Casa Ferrão costs €18 for three glasses.
For dinner, try the francesinha at Café Avenida: ham, sausage, steak and melted cheese, €12.50. Trams on line 1 run along the river to Foz every 20 minutes, 9.30am to 9pm; a single costs €6.
Porto gets 1,200 mm of rain a year. June to September is driest. The metro from the airport takes half an hour.
+ Welcome to Porto! Our first stop: São Bento, a railway station with about twenty thousand painted tiles.
+ Colaço needed more than ten years for them. And you? You get to see them for free.
+ Next, walk across the Dom Luís Bridge, forty-five metres over the Douro River.
+ Hungry? At the Café Avenida, a francesinha is twelve euros fifty.
+ Portuguese summers are dry here, so come between June and September. From the airport, it's only thirty minutes by metro.
- Trams leave every ten minutes.
- A tasting at Casa Ferrão costs twenty-eight euros.
- Cross the bridge, forty-five feet above the Douro.
===
# The Tulip Tax of 1643
In the spring of 1643 the Frisian town of Harmelo, still paying for its new harbour, put a tax of four stuivers on each tulip bulb. Mayor Cornelis van Rijswijk expected 9,000 guilders a year; in the first year he received 212.
Growers had moved their beds across the canal, 300 paces outside the walls. In May 1645 the council gave in, by eleven votes to three. A pamphlet printed in Amsterdam mocked Harmelo as "the town that taxed the wind".
Historians such as Beatrix Oudkerk (Leiden) see in the affair the first tax strike of the Dutch Golden Age. The ledger survives in the Frisian Archives in Leeuwarden.
+ Picture a small Dutch harbour town in the 1640s. It needs money, and it has an idea: let's tax tulips!
+ Van Rijswijk, the mayor, hoped for nine thousand guilders. He got barely more than two hundred.
+ How come? The growers simply moved across the canal, three hundred paces away.
+ Two years later, in May 1645, the councillors gave up. Eleven voted for it, only three against.
+ "The town that taxed the wind", people in Amsterdam laughed. Today you'll find the ledger in Leeuwarden.
- The tax was fourteen stuivers on each bulb.
- A pamphlet mocked Harmelo as "the town that sold its flowers".
- Today you'll find the ledger in Rotterdam.
===
# Penbury Town Council: Planning Committee, minutes of Tuesday 6 June 2023
Present: Cllrs J. Hargreaves (Chair), P. Nkemelu, S. Whitcombe, D. Ali. Apologies: Cllr R. Tuck.
23/0417 Former Odeon, High Street. Change of use to 38 flats and a ground-floor gym. 61 letters of objection, 7 in support. Highways asked for 20 cycle stands. REFUSED 3-1.
23/0422 Land off Mill Lane. Community orchard with 150 trees. Approved unanimously, subject to a fence no higher than 1.2m.
Public questions: Mrs E. Yarrow asked when the toilets in Castle Park would reopen. The Clerk replied: by the end of August. The meeting closed at 9.25pm. Date of next meeting: Tuesday 4 July 2023, 7pm, Guildhall.
+ Good news for apple lovers: Penbury's getting an orchard. One hundred and fifty trees will grow off Mill Lane.
+ The old Odeon, however, won't be turned into flats. Councillors said no, by three votes to one.
+ More than sixty people had written to object, and just seven liked the plan.
+ Councillor Hargreaves was in the chair that Tuesday. Councillor Tuck couldn't come.
+ So when can we use the loos in Castle Park again, asked Mrs Yarrow. By late August, said the clerk. The next meeting starts at seven in the evening, on the fourth of July.
- The plan was for eighty-three flats.
- The next meeting is on Tuesday the eleventh of July.
- Councillor Nkemelu couldn't come.
===
# Quillbase 4.2 released
14 September 2023 — We are happy to announce Quillbase 4.2, the open-source time-series database. This release took seven months and contains 1,038 commits by 64 contributors.
Highlights: compressed blocks use 37% less disk space; queries over 30 days are up to 5x faster; new SQL function `time_bucket_gapfill()`; Prometheus remote write v2; support for ARM64.
Breaking: Python 3.7 is no longer supported, and the default port changes from 8086 to 8186. Upgrade with `quill migrate --all`; on our 2 TB test set this took 11 minutes.
CVE-2023-41877 is fixed; thanks to Ayumi Takeda for the report. Support for 3.x ends on 31 March 2024. Docs: https://docs.quillbase.example
+ Version 4.2 of Quillbase is here. Seven months of work, more than a thousand commits.
+ Sixty-four people contributed. Among other things, they cut disk usage by over a third.
+ Queries can be up to five times as fast.
+ Watch out: Python 3.7 is out, and the port is now 8186.
+ Still on version three? Support ends in March 2024, so upgrade soon. Migrating two terabytes took the team just eleven minutes.
- Queries can be up to fifteen times as fast.
- Support for 3.x ends on 31 May 2024.
- The port is now 8188.
===
# Why Iceland's puffins come home later
Every April, some 3 million pairs of Atlantic puffins return to Iceland, which hosts about 60 percent of the world's population. But at Látrabjarg, Westfjords, ranger Gunnar Einarsson writes down the first bird later each year: 9 April in 1995, 21 April in 2020.
The reason swims. Sandeels, the puffins' main food, have moved north as the sea warmed by 1.4 °C since 1990. A puffin can carry ten fish at once, dives to 60 m and lives for 25 years.
The young, called pufflings, leave the burrow after 45 days. In Heimaey children throw them off the cliffs by the hundred - to help them fly.
+ Every spring, millions of puffins come home to Iceland. But they're coming later and later.
+ In 1995, Einarsson saw the first one on the ninth of April. Twenty-five years later, it was the twenty-first.
+ Why's that? The Icelandic sea has warmed by almost one and a half degrees since 1990.
+ More than half of all Atlantic puffins on Earth nest there.
+ Did you know that puffins can dive sixty metres deep, and live for a quarter of a century?
- A puffin can carry thirty fish at once.
- The young leave the burrow after 54 days.
- In Reykjavik, children throw them off the cliffs.
===
# Margaux Okonkwo takes over at Fenwick & Lyle
LONDON, Jan. 9, 2024 (Newswire) - Fenwick & Lyle plc (FWL), Britain's fourth-largest maker of lifts, has named Margaux Okonkwo chief executive. She succeeds Sir Alan Prewitt, who steps down on March 31 after 16 years.
Okonkwo, 47, comes from Siemens Energy, where she ran the turbine business in Berlin. Shares rose 3.8% to 412p. The company reported sales of £1.27bn for 2023, up from £1.19bn, and employs 9,300 people in 22 countries.
"Lifts are boring only until they stop," Okonkwo told analysts. She plans to close the plant in Derby and to invest £90 million in Gdansk by 2027.
+ There's a new boss at Fenwick and Lyle, and she has a sense of humour. "Lifts are boring only until they stop," says Margaux Okonkwo.
+ Okonkwo is forty-seven. Before that, she ran the turbine business at Siemens Energy in the German capital, Berlin.
+ After sixteen years at the top, Sir Alan leaves at the end of March.
+ Last year's sales? Nearly 1.3 billion pounds.
+ The British company has over nine thousand employees, and by 2027, ninety million pounds will go into Gdansk.
- She plans to close the plant in Leeds.
- Shares fell to 312 pence.
- Okonkwo comes from Rolls-Royce.
===
# How deep-sea cables are mended
Some 550 cables carry 99% of the data between continents. On average one breaks every three days, mostly because of anchors and fishing gear. There are only 22 ships that can repair them.
First a technician sends a pulse of light down the fibre; the echo tells where the break is, to within a few metres. A ship such as the Ile de Molène then drags a grapnel across the sea floor, at up to 8,000 m.
Splicing takes 16 hours, as each of the fibres, as thin as a hair, is welded by hand. A day at sea costs $100,000. After the 2006 Hengchun earthquake off Taiwan, eleven ships worked for 49 days.
+ Think of the last video you streamed. Chances are it crossed an ocean through a cable.
+ Ninety-nine percent of all data between continents travels this way. Not by satellite!
+ And every three days, somewhere, one of these cables snaps. Usually, it's an anchor or a fishing net's fault.
+ Mending one isn't cheap: one hundred thousand dollars for each day at sea.
+ In 2006, a Taiwanese earthquake broke so many that eleven ships were busy for seven weeks.
- The Ile de Molène drags a grapnel at up to 8,000 feet.
- Splicing takes sixty hours.
- After the 2011 earthquake, eleven ships worked for 49 days.
===
# Ask Dr. Lindqvist: do I really need eight hours?
Not everybody does. The National Sleep Foundation recommends seven to nine hours for adults of 26 to 64, and 7-8 after that. In a study of 88,000 Britons (Hartmann et al., 2021), those who fell asleep between 10 and 11 p.m. had the fewest heart attacks.
Caffeine has a half-life of about 5 hours, so your 4 p.m. espresso is still half there at 9. Keep the bedroom at 16-18 °C (60-65 °F). Naps: 20 minutes at most.
My patient Maria, a nurse from Malmö, cured her insomnia by getting up at 6:30 every day, Sundays included. "It took three awful weeks," she says, "and then it was magic."
+ Do you really need eight hours of sleep? Dr Lindqvist says: not necessarily.
+ If you're an adult under sixty-five, aim for seven to nine hours.
+ A British study looked at eighty-eight thousand people. Those who nodded off between ten and eleven at night had the healthiest hearts.
+ Love your afternoon coffee? An espresso at four is still half in your blood at nine o'clock.
+ Maria, a Swedish nurse from Malmö, got up at half past six every day. "And then it was magic," she says.
- Naps should last 40 minutes at most.
- Maria got up at half past five every day.
- "It was the best month of my life," says Maria.
===
# Nachtzug nach Triest kehrt zurück
Wien, 4. Dezember 2023. Ab dem 15. März fährt wieder ein Nachtzug von Wien nach Triest. Er verlässt den Hauptbahnhof um 21.27 Uhr und kommt um 6.45 Uhr an. Die Strecke ist 620 Kilometer lang.
Betreiber ist die Alpenbahn AG aus Graz. „Wer schläft, verpasst nichts außer dem Stau“, sagt Geschäftsführerin Dr. Johanna Egger. Die Züge haben sieben Wagen mit 254 Plätzen; ein Bett im Schlafwagen kostet ab 79 Euro, ein Sitzplatz ab 29,90 Euro.
Zuletzt fuhr die Verbindung 2003. Das Land Kärnten schießt 1,8 Millionen Euro im Jahr zu.
+ Stellen Sie sich vor: Sie steigen abends in Wien ein und wachen am Meer auf. Ab Mitte März geht das wieder.
+ Rund zwanzig Jahre lang gab es keinen Nachtzug nach Triest.
+ Kurz vor halb zehn fährt er los, und um Viertel vor sieben ist man da.
+ „Wer schläft, verpasst nichts außer dem Stau“, sagt Johanna Egger von der Grazer Alpenbahn.
+ Ein Bett gibt es ab neunundsiebzig Euro, einen Sitzplatz schon für knapp dreißig. Kärnten zahlt fast zwei Millionen Euro jährlich dazu.
- Die Züge haben neun Wagen.
- Das Land Steiermark schießt 1,8 Millionen Euro zu.
- Ein Bett gibt es ab siebenundneunzig Euro.
===
# Clara Immerthal, die Frau mit den Flechten
Clara Immerthal (geboren am 2. Mai 1854 in Quedlinburg, gestorben am 19. August 1931 in Jena) war eine deutsche Botanikerin. Sie beschrieb 317 Arten von Flechten, obwohl sie nie studieren durfte.
Von 1882 an bereiste sie viermal Norwegen, zweimal zu Fuß von Bergen bis Tromsø. Ihr Herbarium mit 11.400 Bögen liegt heute im Botanischen Museum Berlin. Ernst Haeckel nannte sie „das schärfste Auge Thüringens“.
1909 verlieh ihr die Universität Jena die Ehrendoktorwürde, als erster Frau.
+ Wer war Clara Immerthal? Eine Botanikerin, die nie studieren durfte und trotzdem über dreihundert Arten beschrieb.
+ Viermal reiste sie nach Norwegen. Zweimal davon ging es zu Fuß von Bergen nach Tromsø!
+ Haeckel nannte sie „das schärfste Auge Thüringens“.
+ Im Jahr 1909 wurde sie Ehrendoktorin in Jena, mit fünfundfünfzig Jahren.
+ Mehr als elftausend Bögen liegen heute in einem Berliner Museum. Im August 1931 starb Immerthal.
- Sie beschrieb 371 Arten von Flechten.
- Rudolf Virchow nannte sie „das schärfste Auge Thüringens“.
- Geboren wurde sie am 2. Mai 1845.
===
# Le pont de Bréhal, dix ans après
Inauguré le 28 juin 2013 par la ministre Hélène Castaing, le pont de Bréhal relie l'île aux Mouettes au continent. Long de 1 850 mètres, il a coûté 94 millions d'euros et demandé quatre ans de travaux.
Avant lui, le bac mettait 25 minutes ; on traverse aujourd'hui en deux. La population de l'île est passée de 2 340 à 3 115 habitants. Le maire, Yann Le Goff, s'en inquiète : « Nous avons gagné un pont et perdu le silence. »
Chaque été, 7 000 voitures passent par jour. Un péage de 3,50 € est prévu à partir de janvier 2025.
+ Imaginez une île sans pont. Pour rejoindre le continent, il fallait prendre le bac, pendant près d'une demi-heure.
+ Depuis l'été 2013, tout a changé : on traverse en deux minutes.
+ Le pont mesure presque deux kilomètres et a coûté quatre-vingt-quatorze millions d'euros.
+ « Nous avons gagné un pont et perdu le silence », regrette Le Goff, le maire.
+ L'île compte aujourd'hui plus de trois mille habitants. Et bientôt, dès janvier 2025, il faudra payer trois euros cinquante.
- Les travaux ont duré sept ans.
- Chaque été, 17 000 voitures passent par jour.
- Le pont a été inauguré par la ministre Hélène Morvan.
===
# Tarte fine aux poires et au romarin
Pour 6 personnes. Préparation : 25 min. Cuisson : 35 min. Ingrédients : 1 pâte feuilletée, 4 poires Conférence, 40 g de beurre, 3 cuillères à soupe de miel, 2 brins de romarin.
Préchauffez le four à 200 °C. Épluchez les poires, coupez-les en lamelles de 3 mm. Disposez-les en rosace, arrosez de beurre fondu et de miel, parsemez de romarin.
Enfournez pour 35 minutes. Servez tiède. La recette vient de Solange Péricard, pâtissière à Annecy, qui la fait depuis 1978. « Une tarte, ça se mange avec les doigts », dit-elle.
+ Aujourd'hui, on cuisine ! Voici une tarte fine pour six personnes, prête en une heure.
+ Il vous faut quatre poires, quarante grammes de beurre et trois cuillères de miel.
+ Solange Péricard, une pâtissière d'Annecy, la prépare depuis la fin des années soixante-dix.
+ Préchauffez votre four à deux cents degrés. Puis coupez les poires : trois millimètres, pas plus !
+ Et surtout, pas de fourchette. « Une tarte, ça se mange avec les doigts », dit Solange.
- Enfournez pour cinquante-cinq minutes.
- Il vous faut quatre-vingts grammes de beurre.
- Solange Péricard est pâtissière à Grenoble.
===
# El faro de Punta Serena cumple 150 años
El 11 de noviembre de 1873 se encendió por primera vez el faro de Punta Serena, en la costa de Galicia. Lo diseñó el ingeniero Anselmo Quiroga, tiene 38 metros de altura y su luz se ve a 24 millas náuticas.
Hasta 1989 vivió allí la familia Outeiro, cuatro generaciones de fareros. «El mar no avisa dos veces», repetía el último, Ramón Outeiro. Hoy el faro es automático y recibe 52.000 visitantes al año.
La entrada cuesta 4 euros; los lunes está cerrado. Para subir hay 197 escalones.
+ ¿Sabías que este faro tiene siglo y medio? Se encendió por primera vez en noviembre de 1873.
+ Mide treinta y ocho metros y lo diseñó Quiroga, un ingeniero.
+ Cuatro generaciones de la familia Outeiro vivieron allí. «El mar no avisa dos veces», decía Ramón, el último farero.
+ Si quieres subir, prepárate: te esperan casi doscientos escalones.
+ Más de cincuenta mil personas visitan cada año este rincón de la costa gallega. Los lunes, eso sí, está cerrado.
- Su luz se ve a 42 millas náuticas.
- La entrada cuesta catorce euros.
- Lo diseñó el ingeniero Anselmo Pardo.
===
# La selección femenina de balonmano gana en Oslo
España venció anoche a Noruega por 27-26 en Oslo y jugará el domingo la final de la Copa Nórdica ante Francia. Marta Ugarte marcó nueve goles; el último, a siete segundos del final.
La portera Inés Calatayud paró 14 lanzamientos, entre ellos dos penaltis. «Hemos sufrido, pero sabíamos sufrir», dijo el entrenador, José Luis Peñalver, que dirige al equipo desde 2020.
Asistieron 8.200 espectadores. Es la primera final del equipo en doce años. La capitana, Lucía Robles, de 34 años, se retirará después del torneo.
+ ¡Qué partido! Las españolas ganaron a las noruegas por un solo gol, veintisiete a veintiséis.
+ Faltaban siete segundos cuando Ugarte marcó su noveno gol.
+ Calatayud paró catorce tiros. ¡Y dos de ellos eran penaltis!
+ «Hemos sufrido, pero sabíamos sufrir», resumió Peñalver.
+ Este domingo espera Francia. Para Robles, que tiene treinta y cuatro años, será la despedida. Hacía doce años que España no llegaba a una final.
- Ugarte marcó once goles.
- La portera Inés Calatayud paró 24 lanzamientos.
- El domingo espera Dinamarca.
"""


def cases() -> Iterator[Case]:
    """The pages with three false statements each."""
    yield from cases_of(_PAGES)
