/**
 * Words that carry grammar, not meaning, by language.
 *
 * English ones are dropped from questions and from running text: "show me the" must not decide a ranking
 * (+3 to +5 points of recall@5 on public sets). Request words (please, find, show) stay: dropping them costs
 * up to 2 points on long catalogs, where "list" and "get" are what tells two tools apart.
 * The other lists only serve to recognise the language of a tool's own text, and to drop the same words from
 * questions in that language; they hold the commonest ones that English does not use as content words.
 */
export const FUNCTION_WORDS = {
  english: words(`a an the this that these those some any each every either neither such
    i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her hers herself
    it its itself they them their theirs themselves who whom whose which what where when why how
    am is are was were be been being do does did doing done have has had having
    will would shall should can could may might must ought
    and or but nor so if then else than as because while although though unless until since
    of at by for with about against between into through during before after above below to from up down in out
    on off over under again further once here there both few more most other only own same too very just also
    not no don doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn ain
    s t ll ve re m d via per etc eg ie within without upon onto across along around among there's let lets`),
  lithuanian:
    words(`ir yra kad su iš į apie kaip kuris kuri kurie kurį kurių ar bet tai tik nuo iki po prie per už
    mano man mūsų mums jūsų jo jos jų šis ši šio šios tas ta to tos visus visas visi visų jei arba nėra bus buvo
    kur kas ką ko kiek kokie kokia koks dėl pagal reikia galima noriu`),
  german:
    words(`der die das den dem des ein eine einen einem einer eines und oder ist sind nicht mit für von zu zum zur
    auf im ins aus bei nach über unter durch wird werden wurde ich du er sie wir ihr mir mich mein meine meinen
    meiner alle als auch wie wenn dass kann welche welcher welches diese dieser dieses um bis ohne`),
  french:
    words(`le la les un une des du de et ou est sont dans pour par sur avec au aux ce cette ces qui que quoi
    pas ne plus je tu il elle nous vous ils mon ma mes votre vos leur leurs son ses sans être comme dont où`),
  spanish:
    words(`el los las un una unos unas y o es son en de del para por con sin que se su sus al como más pero
    mi mis este esta estos estas ese cuando donde cuál qué si ya está están le lo`),
  italian:
    words(`il lo la gli le un uno una e o è sono di del della dei delle degli da dal dalla in nel nella per con
    su sul sulla che non si mi ma come più questo questa questi quale quando dove al alla ai`),
  portuguese:
    words(`o os as um uma uns umas e ou é são em no na nos nas de do da dos das para por com sem que se seu
    sua seus suas ao à como mais mas meu minha este esta quando onde qual não está`),
  dutch:
    words(`de het een en of is zijn niet met voor van naar op in uit bij door over onder wordt worden ik je hij
    wij mijn deze dit die dat wat welke hoe alle als ook om aan te kan`),
  swedish:
    words(`och eller är inte med för av på till från en ett den det de som om alla kan jag du vi min mitt mina
    din vilka vilken hur när vid att har`),
  danish:
    words(`og eller er ikke med for af på til fra en et den det de som om alle kan jeg du vi min mit mine hvilke
    hvordan når ved at har efter`),
  norwegian:
    words(`og eller er ikke med for av på til fra en ei et den det de som om alle kan jeg du vi min mitt mine
    hvilke hvordan når ved å har etter`),
  finnish:
    words(`ja tai on ovat ei se että joka kuin myös kaikki minun mitä missä miten kun jos tämä nämä voi olla
    sekä niiden sen`),
  turkish:
    words(`ve veya bir bu şu için ile de da mi ne nasıl gibi tüm olarak olan daha çok benim hangi var yok en
    kadar sonra`),
  hungarian:
    words(`a az és vagy egy nem hogy van volt ez ezt mint csak már meg ki mi minden milyen hogyan alapján
    szerint`),
  romanian: words(
    `și sau este sunt un o de la în din cu pe pentru care ce nu mai al ale ai prin să fi toate meu mea`,
  ),
} as const;

export type LatinLanguage = keyof typeof FUNCTION_WORDS;

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(/\s+/));
}
