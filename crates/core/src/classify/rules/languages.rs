//! Messages in other languages than English and Chinese: the few words that say it all.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::{
    AuthError, ContentFilter, ContextLimit, InvalidRequest, ModelUnavailable, NetworkTransient, Overloaded,
    QuotaExhausted, RateLimit, ServerError, StateLost, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    rule("languages.quota", QuotaExhausted)
        .text(&[
            // Japanese
            "残高(?:が)?(?:不足|足り)",
            "クレジット(?:が|の)?(?:不足|足り|残高)",
            "(?:利用|使用)(?:上限|制限)",
            "割り当て~(?:超|上限)",
            "クォータ~(?:超|上限)",
            "料金~(?:未払|支払)",
            // Korean
            "잔액(?:이)? ?(?:부족|없)",
            "크레딧(?:이)? ?(?:부족|소진|없)",
            "(?:할당량|한도|사용량)~초과",
            // French, Spanish, Portuguese, Italian, German
            "solde (?:\\S{1,16} ){0,3}(?:insuffisant|épuisé|trop)",
            "crédits? (?:\\S{1,16} ){0,3}(?:insuffisants?|épuisés?)",
            "quota (?:\\S{1,16} ){0,3}(?:dépassé|épuisé|atteint|superad|excedid|agotad|überschritten|aufgebraucht|superat)",
            "saldo (?:\\S{1,16} ){0,3}(?:insuficiente|insufficiente|agotado|esgotado)",
            "(?:créditos?|fondos|fundos) (?:\\S{1,16} ){0,3}(?:insuficientes?|agotados?|esgotados?)",
            "(?:cuota|cota) (?:\\S{1,16} ){0,3}(?:excedida|superada|agotada|esgotada)",
            "límite de (?:uso|gasto)|limite de (?:uso|gasto)",
            "credito (?:\\S{1,16} ){0,3}(?:insufficiente|esaurito)",
            "(?:guthaben|kontostand)~(?:aufgebraucht|nicht ausreichend|reicht nicht|zu niedrig|erschöpft)",
            "kontingent~(?:aufgebraucht|erschöpft|überschritten)",
            // Russian
            "(?:н|Н)едостаточно (?:средств|баланса|кредитов|токенов)",
            "(?:б|Б)аланс~(?:исчерпан|недостат|пуст)",
            "(?:л|Л)имит~(?:исчерпан|израсходован)",
            "(?:к|К)вота~(?:исчерпана|превышена)",
        ])
        .window()
        .example("Votre solde est insuffisant."),
    rule("languages.rate", RateLimit)
        .text(&[
            "リクエスト(?:が|数が|回数が)?~(?:多すぎ|制限)",
            "レート(?:制限|リミット)",
            "(?:요청|호출)(?:이|량이|횟수가)? ?(?:너무 )?(?:많|초과)",
            "속도 제한",
            "trop de (?:requêtes|demandes|tentatives)",
            "demasiad[ao]s (?:solicitudes|peticiones|intentos)",
            "(?:muitas|excesso de) (?:solicitações|requisições|tentativas)",
            "troppe richieste",
            "zu viele (?:anfragen|versuche|anforderungen)",
            "(?:anfragelimit|ratenbegrenzung)",
            "(?:с|С)лишком (?:много|часто)",
            "(?:п|П)ревышен~(?:лимит|частот|количеств)",
        ])
        .example("Zu viele Anfragen. Bitte warten."),
    rule("languages.overload", Overloaded)
        .text(&[
            "混雑",
            "混み合",
            "過負荷",
            "과부하",
            "혼잡",
            "surchargée?s?",
            "sobrecargad[ao]",
            "sobrecarregad[ao]",
            "sovraccaric[oa]",
            "überlastet",
            "ausgelastet",
            "(?:п|П)ерегружен",
        ])
        .example("Der Server ist überlastet"),
    connection("languages.timeout", Timeout)
        .text(&[
            "タイムアウト",
            "時間切れ",
            "시간(?:이)? ?초과",
            "타임아웃",
            "délai (?:\\S{1,16} ){0,3}(?:dépassé|expiré)",
            "(?:tiempo|tempo) (?:\\S{1,16} ){0,3}(?:agotado|esgotado|excedido|scaduto|limite)",
            "zeitüberschreitung",
            "(?:в|В)ремя ожидания",
            "(?:т|Т)айм-?аут",
        ])
        .example("接続がタイムアウトしました"),
    connection("languages.network", NetworkTransient)
        .class()
        .text(&[
            "ネットワーク(?:エラー|に接続)",
            "接続(?:が拒否|できません|に失敗|が切断|エラー)",
            "네트워크 (?:오류|연결)",
            "연결(?:이|할|에)? ?(?:거부|실패|끊|수 없)",
            "connexion (?:\\S{1,16} ){0,2}(?:refusée|perdue|impossible|interrompue|échouée)",
            "(?:conexión|conexão) (?:\\S{1,16} ){0,2}(?:rechazada|recusada|perdida|interrumpida)",
            "verbindung (?:\\S{1,24} ){0,4}(?:abgelehnt|verweigert|verloren|unterbrochen|fehlgeschlagen|getrennt|zurückgesetzt)",
            "(?:н|Н)ет (?:подключения|соединения)",
            "(?:с|С)оединение (?:разорвано|отклонено|сброшено|потеряно|прервано)",
            "(?:о|О)шибка (?:сети|подключения|соединения)",
        ])
        .example("Die Verbindung wurde abgelehnt"),
    rule("languages.auth", AuthError)
        .text(&[
            "認証(?:に失敗|エラー|が必要|できません)",
            "(?:権限|アクセス権)(?:が|は)?(?:ありません|不足)",
            "ログイン(?:してください|が必要)",
            "無効な(?:api|キー|トークン)",
            "(?:キー|トークン)(?:が|は)(?:無効|正しくありません|間違|期限切れ|設定されていません)",
            "인증(?:에|이)? ?(?:실패|필요|오류|만료)",
            "권한(?:이)? ?(?:없|부족)",
            "로그인(?:이)? ?(?:필요|하세요|해)",
            "유효하지 않은 (?:api|키|토큰)",
            "(?:키|토큰)(?:가|이|는|은) ?(?:유효하지|잘못|올바르지|만료|없습니다|설정되지)",
            "clé (?:\\S{1,12} ){0,2}(?:invalide|manquante|expirée|incorrecte)",
            "(?:clave|chave) (?:\\S{1,12} ){0,2}(?:inválida|no válida|incorrecta|expirada)",
            "(?:accès|acceso|acesso|accesso) (?:refusé|denegado|negado|negato)",
            "(?:non|no|não) (?:autorisée?|autorizad[ao]|autorizzat[ao])",
            "ungültiger (?:api|schlüssel|token)",
            "(?:zugriff|anmeldung) (?:verweigert|fehlgeschlagen|erforderlich)",
            "(?:н|Н)еверный (?:ключ|api|токен|пароль)",
            "(?:д|Д)оступ (?:запрещ|запрещён|закрыт)",
            "(?:т|Т)ребуется авторизация",
        ])
        .example("Zugriff verweigert"),
    rule("languages.server", ServerError)
        .class()
        .text(&[
            "サーバー(?:エラー|内部|側)",
            "内部エラー",
            "서버 (?:오류|에러|내부)",
            "내부 (?:오류|서버)",
            "erreur (?:interne|serveur|du serveur)",
            "error interno",
            "erro interno",
            "errore interno",
            "interner (?:server)?fehler",
            "serverfehler",
            "(?:в|В)нутренняя ошибка",
            "(?:о|О)шибка сервера",
        ])
        .example("Interner Serverfehler"),
    rule("languages.model", ModelUnavailable)
        .text(&[
            "モデル~(?:見つかり|存在し|利用でき)",
            "모델~(?:찾을 수 없|존재하지)",
            "modèle (?:\\S{1,60} ){0,3}(?:introuvable|n'existe pas|indisponible)",
            "modelo (?:\\S{1,60} ){0,3}(?:no (?:encontrado|existe|disponible)|não (?:encontrado|existe))",
            "modell (?:\\S{1,60} ){0,3}(?:nicht gefunden|existiert nicht|nicht verfügbar)",
            "(?:м|М)одель~(?:не найдена|недоступна|не существует)",
        ])
        .example("Modell gpt-9 nicht gefunden"),
    rule("languages.context", ContextLimit)
        .text(&[
            "(?:入力|プロンプト|コンテキスト)~(?:長すぎ|超え)",
            "トークン(?:数)?~(?:超え|上限)",
            "(?:입력|프롬프트|컨텍스트|토큰)~(?:너무 길|초과)",
            "trop (?:long|de tokens)",
            "(?:demasiado|muito) (?:largo|longo|larga|longa)",
            "zu (?:lang|viele tokens)",
            "(?:с|С)лишком длинн",
        ])
        .example("Die Eingabe ist zu lang"),
    rule("languages.safety", ContentFilter)
        .decisive()
        .text(&[
            "(?:不適切|有害)な(?:内容|コンテンツ|表現)",
            "ポリシー(?:に)?違反",
            "(?:부적절|유해)한 (?:내용|콘텐츠)",
            "정책(?:을)? ?위반",
            "contenu (?:inapproprié|interdit|nuisible)",
            "contenido (?:inapropiado|prohibido|dañino)",
            "unangemessene inhalte",
            "(?:н|Н)едопустимый контент",
        ])
        .example("この内容はポリシー違反です"),
    rule("languages.invalid", InvalidRequest)
        .class()
        .text(&[
            "(?:無効|不正)な(?:リクエスト|パラメータ|入力|値)",
            "잘못된 (?:요청|매개변수|입력|값)",
            "requête (?:invalide|incorrecte)|paramètre (?:invalide|manquant)",
            "(?:solicitud|parámetro|petición) (?:no válid|inválid|incorrect)",
            "(?:solicitação|parâmetro|requisição) inválid",
            "ungültige (?:anfrage|eingabe|parameter)",
            "(?:н|Н)еверный (?:запрос|параметр|формат)",
        ])
        .example("Ungültige Anfrage"),
    rule("languages.state", StateLost)
        .text(&[
            "セッション(?:が|は)~(?:切れ|見つかり|存在し|終了)",
            "세션(?:이)? ?(?:만료|종료|없)",
            "session (?:expirée|introuvable|terminée)",
            "(?:sesión|sessão) (?:expirada|caducada|no encontrada|não encontrada)",
            "sitzung (?:\\S{1,16} ){0,2}(?:abgelaufen|nicht gefunden|beendet)",
            "(?:с|С)ессия (?:истекла|не найдена|завершена)",
        ])
        .example("Sitzung abgelaufen"),
];
