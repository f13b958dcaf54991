//! What people write in code and in many languages is found as they would expect.

use kapsa_index::{
    Candidate, Document, Filter, Query, Searcher, Segment, SegmentBuilder, TailDoc, highlight,
};

/// Documents, a query, the number of the best hit, numbers of documents that are no hits.
type Case<'a> = (&'a [&'a str], &'a str, usize, &'a [usize]);

fn document(text: &str) -> Document<'_> {
    Document { title: "", text, terms: &[], key_hash: 0, time_us: 0 }
}

/// Everything in a segment, and everything in the tail.
fn searchers(texts: &[&str]) -> [Searcher; 2] {
    let mut builder = SegmentBuilder::new(1 << 20).expect("builder");
    texts.iter().for_each(|text| builder.add(&document(text)).expect("added"));
    let segment = Segment { first_seq: 0, bytes: builder.finish().expect("finished").into() };
    let tail =
        texts.iter().zip(0..).map(|(text, seq)| TailDoc::new(seq, &document(text))).collect();
    [
        Searcher::open(vec![segment], Vec::new()).expect("open"),
        Searcher::open(Vec::new(), tail).expect("open"),
    ]
}

/// Numbers of the hits, best first.
fn found(searcher: &Searcher, texts: &[&str], query: &Query) -> Vec<usize> {
    let mut accept =
        |candidate: Candidate<'_>| query.phrases_match("", texts[candidate.seq() as usize]);
    let hits = searcher.search(query, &Filter::default(), 10, &mut accept).expect("search");
    hits.iter().map(|hit| hit.seq as usize).collect()
}

fn check(cases: &[Case<'_>]) {
    let mut wrong = Vec::new();
    for &(texts, text, best, absent) in cases {
        let query = Query::parse(text).expect("short");
        let hits = searchers(texts).map(|searcher| found(&searcher, texts, &query));
        assert_eq!(hits[0], hits[1], "in a segment and in the tail: {text}");
        let shown = !highlight(texts[best], &query).is_empty();
        if hits[0].first() != Some(&best)
            || absent.iter().any(|number| hits[0].contains(number))
            || !shown
        {
            wrong.push(format!("{text} in {texts:?}: {:?}, expected {best} and not {absent:?}, highlighted: {shown}", hits[0]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn identifiers() {
    check(&[
        (&["call getUserName() first", "a function for paths", "the name"], "getUserName", 0, &[1]),
        (&["call getUserName() first", "the group and the file"], "user name", 0, &[1]),
        (&["call getUserName() first", "nothing"], "getusername", 0, &[1]),
        (
            &["call getUserName() first", "get_user_name(id)", "get the user"],
            "get_user_name",
            1,
            &[],
        ),
        (&["get the user a name", "get_user_name(id)"], "+getUserName", 1, &[0]),
        (&["class HttpRequestHandler", "an HTTP server"], "HttpRequestHandler", 0, &[]),
        (&["class HTTPRequestHandler", "a handle"], "request", 0, &[1]),
        (&["set MAX_RETRY_COUNT to 5", "count to five"], "max_retry_count", 0, &[]),
        (&["set MAX_RETRY_COUNT to 5", "a count of retries"], "\"max retry\"", 0, &[1]),
        (&["the --dry-run flag", "a dry summer"], "dry-run", 0, &[]),
        (&["the --dry-run flag", "run dry"], "\"dry-run\"", 0, &[1]),
        (&["css: font-size and border-radius", "size of a border"], "\"border-radius\"", 0, &[1]),
        (&["use std::sync::Arc;", "sync the files", "an arc"], "std::sync::Arc", 0, &[]),
        (&["use std::sync::Arc;", "Arc, sync, std"], "\"std::sync::Arc\"", 0, &[1]),
        (&["a std::vector<int> v;", "a vector of doubles"], "std::vector<int>", 0, &[]),
        (&["a std::vector<int> v;", "int vector"], "\"vector<int>\"", 0, &[1]),
        (&["__init__ is called", "the end"], "__init__", 0, &[1]),
        (&["useState in React", "use of a state"], "\"useState\"", 0, &[1]),
        (&["the JavaScript file", "coffee"], "javascript", 0, &[1]),
        (&["many GPUs", "one CPU"], "gpu", 0, &[1]),
        (&["one GPU", "many CPUs"], "GPUs", 0, &[1]),
        (&["our APIs", "a pie"], "api", 0, &[1]),
    ]);
}

#[test]
fn codes_and_numbers() {
    check(&[
        (&["error CS0854: an expression tree", "error CS0855", "warning 854"], "CS0854", 0, &[2]),
        (&["error CS0854: an expression tree", "error CS0855"], "cs0854", 0, &[]),
        (&["error CS0854: an expression tree", "error CS0855"], "\"CS0854\"", 0, &[1]),
        (&["E0382: borrow of moved value", "E0499: borrow twice"], "error E0382", 0, &[]),
        (
            &["ORA-00942: table or view does not exist", "ORA-01017: invalid password"],
            "ORA-00942",
            0,
            &[],
        ),
        (
            &["ORA-00942: table or view does not exist", "ORA-01017: invalid password"],
            "\"ora 00942\"",
            0,
            &[1],
        ),
        (&["it answered HTTP 404", "it answered HTTP 500"], "HTTP 404", 0, &[]),
        (&["tantivy v0.27.0 is out", "tantivy v0.26.1 is out"], "v0.27.0", 0, &[]),
        (&["tantivy v0.27.0 is out", "tantivy v0.26.1 is out"], "0.27.0", 0, &[]),
        (&["tantivy v0.27.0 is out", "27 of 0"], "\"0.27\"", 0, &[1]),
        (&["fixed in bd8926f", "fixed in b63c9c2"], "bd8926f", 0, &[1]),
        (
            &["fixed in bd8926f", "fixed in b63c9c2"],
            "bd8926f1c0a34c85fe2f7d0e9b1a6c3d2e4f5a60",
            0,
            &[1],
        ),
        (
            &["id 550e8400-e29b-41d4-a716-446655440000", "id 123e4567-e89b-12d3-a456-426614174000"],
            "550e8400-e29b-41d4-a716-446655440000",
            0,
            &[],
        ),
        (
            &["id 550e8400-e29b-41d4-a716-446655440000", "id 123e4567-e89b-12d3-a456-426614174000"],
            "\"550e8400-e29b-41d4-a716-446655440000\"",
            0,
            &[1],
        ),
        (
            &["id 550e8400e29b41d4a716446655440000", "another"],
            "550e8400-e29b-41d4-a716-446655440000",
            0,
            &[1],
        ),
        (&["closes #1234", "closes #1235"], "#1234", 0, &[1]),
        (&["on x86_64 only", "on aarch64 only"], "x86-64", 0, &[]),
        (&["UTF-8 text", "UTF-16 text"], "utf8", 0, &[]),
        (&["from 2024-05-01 on", "from 2023-05-01 on"], "\"2024-05-01\"", 0, &[1]),
        (&["log_20240501", "log_20230501"], "2024-05-01", 0, &[1]),
    ]);
}

#[test]
fn paths_and_names() {
    check(&[
        (&["panicked at src/main.rs:42:5", "the main source"], "src/main.rs:42", 0, &[]),
        (&["panicked at src/main.rs:42:5", "main, rs, src"], "\"src/main.rs\"", 0, &[1]),
        (&["open C:\\Users\\x\\file.txt", "users of a file"], "C:\\Users\\x\\file.txt", 0, &[]),
        (&["open C:\\Users\\x\\file.txt", "txt file"], "\"file.txt\"", 0, &[1]),
        (&["edit /etc/nginx/nginx.conf", "install nginx"], "/etc/nginx/nginx.conf", 0, &[]),
        (&["edit /etc/nginx/nginx.conf", "etc. for nginx"], "\"/etc/nginx\"", 0, &[1]),
        (
            &["write to ann.smith@example.com", "write to bob@example.com"],
            "ann.smith@example.com",
            0,
            &[],
        ),
        (&["write to ann.smith@example.com", "ann at smith"], "\"ann.smith@example.com\"", 0, &[1]),
        (
            &["see https://docs.rs/tantivy/latest", "see https://docs.rs/serde"],
            "https://docs.rs/tantivy/latest",
            0,
            &[],
        ),
        (&["see https://docs.rs/tantivy/latest", "see docs.rs"], "\"docs.rs/tantivy\"", 0, &[1]),
        (&["C++ is compiled", "Java is compiled"], "C++", 0, &[1]),
        (&["C# has LINQ", "Java has streams"], "C#", 0, &[1]),
        (&[".NET 8 is out", "the web"], ".NET", 0, &[1]),
        (&["node.js 22", "a node of a tree"], "node.js", 0, &[]),
        (&["nodejs 22", "a tree"], "Node.js", 0, &[1]),
        (&["a well-known place", "well, it is known"], "\"well-known\"", 0, &[1]),
        (&["send an email", "send a letter"], "e-mail", 0, &[1]),
        (&["the front-end team", "the back"], "front end", 0, &[1]),
        (&["the user's choice", "the abuse"], "users", 0, &[1]),
        (&["I don't know", "a donkey"], "\"don't know\"", 0, &[1]),
        (&["O’Brien called", "Brian called"], "O'Brien", 0, &[1]),
        (&["don't", "dont"], "don't", 0, &[]),
    ]);
}

#[test]
fn latin() {
    check(&[
        (&["Die Straße ist gesperrt", "Der Weg ist frei"], "strasse", 0, &[1]),
        (&["DIE STRASSE", "DER WEG"], "Straße", 0, &[1]),
        (&["Grüße aus München", "Gruß aus Minden"], "munchen", 0, &[1]),
        (&["Herr Mueller kommt", "Herr Meier kommt"], "Müller", 0, &[1]),
        (&["Herr Müller kommt", "Herr Meier kommt"], "Muller", 0, &[1]),
        (&["über die Straße gehen", "Straße über die"], "\"die Straße\"", 0, &[1]),
        (&["l’école supérieure", "la rue"], "ecole superieure", 0, &[1]),
        (&["un œuf à la coque", "du pain"], "oeuf", 0, &[1]),
        (&["un œuf à la coque", "la coque"], "\"oeuf a la\"", 0, &[1]),
        (&["aujourd'hui il pleut", "hier"], "aujourd’hui", 0, &[1]),
        (&["El niño mañana", "La mano"], "manana", 0, &[1]),
        (&["Příliš žluťoučký kůň", "Pes"], "kun", 0, &[1]),
        (&["Příliš žluťoučký kůň", "kůň žluťoučký"], "\"zlutoucky kun\"", 0, &[1]),
        (&["Zażółć gęślą jaźń w Łodzi", "W Warszawie"], "łodzi", 0, &[1]),
        (&["Zażółć gęślą jaźń w Łodzi", "W Warszawie"], "\"gesla jazn\"", 0, &[1]),
        (&["İstanbul'da yağmur", "Ankara"], "istanbul", 0, &[1]),
        (&["ISPARTA gülleri", "Ankara"], "ısparta", 0, &[1]),
        (&["İstanbul'da yağmur", "yağmur İstanbul"], "\"ISTANBUL'DA YAGMUR\"", 0, &[1]),
        (&["Tôi yêu tiếng Việt", "Tôi ăn cơm"], "tieng viet", 0, &[1]),
        (&["Tôi yêu tiếng Việt", "Việt tiếng"], "\"tiếng việt\"", 0, &[1]),
        (&["Đường phố Hà Nội", "Sài Gòn"], "duong pho", 0, &[1]),
        (&["Tie\u{302}\u{301}ng Vie\u{323}\u{302}t", "Sài Gòn"], "tiếng Việt", 0, &[1]),
        (&["Smørrebrød på Æbelø", "Kage"], "smorrebrod aebelo", 0, &[1]),
        (&["Ｒｕｓｔ言語", "Java"], "Ｒｕｓｔ", 0, &[1]),
        (&["the Rust language", "Java"], "Ｒｕｓｔ", 0, &[1]),
    ]);
}

#[test]
fn greek_and_cyrillic() {
    check(&[
        (&["Η πόλη είναι όμορφη", "Το χωριό"], "πόλη", 0, &[1]),
        (&["Η πόλη είναι όμορφη", "Το χωριό"], "πολη", 0, &[1]),
        (&["Η πόλη είναι όμορφη", "Το χωριό"], "ΠΟΛΗ", 0, &[1]),
        (&["Η ΠΟΛΗ", "ΤΟ ΧΩΡΙΟ"], "πόλη", 0, &[1]),
        (&["Ο ΣΟΦΟΣ ΑΝΘΡΩΠΟΣ", "Η ΠΟΛΗ"], "σοφός", 0, &[1]),
        (&["ο σοφός άνθρωπος", "η πόλη"], "ΣΟΦΟΣ", 0, &[1]),
        (&["ο σοφός άνθρωπος", "άνθρωπος σοφός"], "\"σοφός άνθρωπος\"", 0, &[1]),
        (&["το ευρωπαϊκό έργο", "το άλλο"], "ευρωπαϊκό", 0, &[1]),
        (&["Ещё один ёжик", "Волк"], "ежик", 0, &[1]),
        (&["Еще один ежик", "Волк"], "ёжик", 0, &[1]),
        (&["МОСКВА большая", "Тверь"], "москва", 0, &[1]),
        (&["в большой комнате", "комнате большой"], "\"большой комнате\"", 0, &[1]),
        (&["Андрей пришёл", "Борис"], "Андреи\u{306}", 0, &[1]),
        (&["Їжак у лісі", "вовк"], "їжак", 0, &[1]),
    ]);
}

#[test]
fn scripts_of_the_east() {
    check(&[
        (&["هذا كتاب جديد", "هذا قلم"], "كتاب", 0, &[1]),
        (&["هذا الكتاب جديد", "هذا قلم"], "كتاب", 0, &[1]),
        (&["هذا كتاب جديد", "هذا قلم"], "الكتاب", 0, &[1]),
        (&["محمد هنا", "علي هنا"], "مُحَمَّد", 0, &[1]),
        (&["إلى أحمد", "من علي"], "احمد", 0, &[1]),
        (&["هذا كتاب جديد", "جديد كتاب"], "\"كتاب جديد\"", 0, &[1]),
        (&["שלום עולם", "להתראות"], "שלום", 0, &[1]),
        (&["שלום עולם", "להתראות"], "שָׁלוֹם", 0, &[1]),
        (&["שלום עולם", "עולם שלום"], "\"שלום עולם\"", 0, &[1]),
        (&["यह हिन्दी भाषा है", "यह किताब है"], "हिन्दी", 0, &[1]),
        (&["यह हिन्दी भाषा है", "भाषा हिन्दी"], "\"हिन्दी भाषा\"", 0, &[1]),
        (&["आज मौसम अच्छा है", "कल"], "मौसम", 0, &[1]),
        (&["ฉันรักภาษาไทย", "ฉันกินข้าว"], "ภาษาไทย", 0, &[1]),
        (&["ฉันรักภาษาไทย", "ไทยภาษา"], "\"ภาษาไทย\"", 0, &[1]),
    ]);
}

#[test]
fn chinese_japanese_korean() {
    check(&[
        (&["我住在北京大学附近", "我住在上海"], "北京大学", 0, &[1]),
        (&["我住在北京大学附近", "大学在北京"], "\"北京大学\"", 0, &[1]),
        (&["我喜欢喝茶", "我喜欢咖啡"], "喝茶", 0, &[1]),
        (&["数据库 连接 失败", "服务器"], "数据库连接", 0, &[1]),
        (&["東京都に住んでいます", "大阪に行きます"], "東京", 0, &[1]),
        (&["東京都に住んでいます", "東京と京都"], "\"東京都\"", 0, &[1]),
        (&["Rust言語を学ぶ", "Java言語を学ぶ"], "Rust言語", 0, &[]),
        (&["Rust言語を学ぶ", "言語、Rust"], "\"Rust言語\"", 0, &[1]),
        (&["コンピューターを買う", "本を買う"], "コンピューター", 0, &[1]),
        (&["ひらがなで書く", "漢字"], "ひらがな", 0, &[1]),
        (&["白い猫がいる", "白い犬がいる"], "猫", 0, &[1]),
        (&["猫は可愛い", "犬は可愛い"], "猫", 0, &[1]),
        (&["猫は可愛い", "犬は可愛い"], "\"猫\"", 0, &[1]),
        (&["我的茶很好", "我的书很好"], "茶", 0, &[1]),
        (&["エラーCS0854が出る", "エラーCS0855が出る"], "CS0854", 0, &[]),
        (&["カタカナのテスト", "漢字"], "ｶﾀｶﾅ", 0, &[1]),
        (&["２０２４年の計画", "去年の計画"], "2024年", 0, &[1]),
        (&["ＡＰＩの設定", "画面の設定"], "API 設定", 0, &[]),
        (&["カ\u{3099}ラス", "木"], "カ\u{3099}ラス", 0, &[1]),
        (&["ガラスの皿", "木の皿"], "カ\u{3099}ラス", 0, &[1]),
        (&["학교에서 공부한다", "집에서 논다"], "학교", 0, &[1]),
        (&["학교에서 공부한다", "공부한다 학교에서"], "\"학교에서 공부\"", 0, &[1]),
        (&["물을 마신다", "빵을 먹는다"], "물", 0, &[1]),
        (
            &["한국어 공부", "영어 공부"],
            "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}\u{110b}\u{1165}",
            0,
            &[],
        ),
        (&["a 🦊 fox", "a 🐻 bear"], "🦊 fox", 0, &[1]),
    ]);
}

/// What is not found: the stored terms would have to change.
#[test]
fn limits() {
    for (text, words) in [
        ("two stars: 白猫", "猫"),
        ("login with OAuth2", "oauth"),
        ("send an e-mail", "email"),
        ("Herr Müller", "Mueller"),
        ("Η πόλη", "\"πολη\""),
        ("Ｒｕｓｔ言語", "rust"),
        ("fixed in bd8926f1c0a34c85fe2f7d0e9b1a6c3d2e4f5a60", "bd8926f"),
        ("новый сервер", "сервера"),
    ] {
        let query = Query::parse(words).expect("short");
        for searcher in searchers(&[text]) {
            assert_eq!(found(&searcher, &[text], &query), [0; 0], "{words} in {text}");
        }
    }
    assert!(Query::parse("🦊").expect("short").is_empty());
    // Of both only the letter is indexed.
    assert_eq!(Query::parse("C++").ok(), Query::parse("c#").ok());
}
