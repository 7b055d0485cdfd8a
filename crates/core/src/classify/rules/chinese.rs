//! Zhipu, DashScope, MiniMax, Moonshot, Volcengine, Baidu, one-api: codes and Chinese phrases.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::{
    AuthError, BadOutput, Cancelled, ContentFilter, ContextLimit, InvalidRequest, ModelUnavailable, NetworkTransient,
    Overloaded, QuotaExhausted, RateLimit, ServerError, StateLost, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    rule("chinese.balance", QuotaExhausted)
        .decisive()
        .text(&[
            "余额不足",
            "余额已用",
            "欠费",
            "请充值",
            "充值后",
            "额度不足",
            "额度已用",
            "额度用尽",
            "额度已耗尽",
            "配额已用",
            "配额不足",
            "配额已耗尽",
            "无可用资源包",
            "用户额度",
            "预扣费",
            "套餐已过期",
            "套餐已到期",
            "已停机",
        ])
        .example("账户余额不足"),
    rule("chinese.window", QuotaExhausted)
        .window()
        .text(&[
            "使用上限",
            "调用上限",
            "次数上限",
            "每日限额",
            "今日~(?:上限|用完|限额)",
            "每天~(?:上限|限额)",
            "本月~(?:上限|用完|限额)",
            "每周~(?:上限|限额)",
            "使用量已达",
            "次数已用",
        ])
        .example("已达到 5 小时的使用上限"),
    rule("chinese.rate", RateLimit)
        .text(&[
            r"限速",
            r"限流",
            r"限频",
            r"太频繁",
            r"过于频繁",
            r"过快",
            r"请求数?过多",
            r"超出~(?:qps|rpm|tpm)",

            "并发~(?:超|上限)",
            "超(?:过|出)~(?:频率|速率|并发)",
            "请求过于频繁",
            "频率限制",
            "速率限制",
            "请求频率",
            "请求太频繁",
            "访问过于频繁",
            "触发限流",
            "已被限流",
            "并发数",
            "并发限制",
            "速率超",
            "调用频率",
            "超过~(?:qps|rpm|tpm)",
            "请求次数过多",
        ])
        .example("请求过于频繁，请稍后重试"),
    rule("chinese.busy", Overloaded)
        .text(&[
            "账号~暂时不可用",
            "繁忙",
            "负载过高",
            "负载较高",
            "负载已饱和",
            "访问量过大",
            "过载",
            "资源不足",
            "排队",
            "模型加载中",
            "算力不足",
        ])
        .example("当前服务器繁忙，请稍后再试"),
    rule("chinese.unavailable", ServerError)
        .class()
        .text(&[
            "服务暂时不可用",
            "服务不可用",
            "服务器(?:内部)?错误",
            "内部错误",
            "系统错误",
            "系统异常",
            "服务异常",
            "上游~(?:错误|失败|异常)",
            "服务器开小差",
            "通信异常",
        ])
        .example("服务暂时不可用"),
    rule("chinese.cancelled", Cancelled)
        .text(&["用户终止", "用户取消", "已取消", "被取消", "已中止", "用户中断", "手动停止"])
        .example("请求已被用户终止"),
    rule("chinese.safety", ContentFilter)
        .decisive()
        .text(&[
            r"(?:响应|回复|输出|提示|内容|请求|回答|答案).{0,40}(?:过滤|屏蔽|拦截)",
            r"含有?(?:敏感|违禁|违法)",
            r"违禁词?",
            r"敏感",
            r"审核(?:不通过|未通过|失败)",
            r"内容(?:被)?(?:过滤|拦截|屏蔽)",
            r"安全(?:风险|检测|拦截)",
            r"高风险",

            "敏感信息",
            "敏感内容",
            "敏感词",
            "内容安全",
            "违规",
            "不安全",
            "不当内容",
            "违反~(?:政策|规定|规范|准则)",
            "涉嫌",
            "安全策略",
            "安全审核",
            "不合规",
        ])
        .example("输入内容包含敏感信息，已被拦截"),
    rule("chinese.model", ModelUnavailable)
        .decisive()
        .text(&[
            r"无权(?:限)?(?:使用|调用|访问)(?:该|此)?模型",
            r"模型(?:未部署|未上线|已停用|已弃用|已下架|未启用|被禁用|维护)",
            r"(?:不支持|未开通|没有)(?:的|此|该|这个)?模型",
            r"模型(?:名称?|id|编码)?(?:错误|无效|不正确)",

            "模型不存在",
            "模型~不存在",
            "无可用渠道",
            "没有可用(?:的)?渠道",
            "模型未开通",
            "模型已下线",
            "不支持该模型",
            "无权(?:限)?访问(?:该)?模型",
            "模型~不可用",
            "找不到模型",
            "未找到模型",
        ])
        .example("模型不存在，请检查模型编码"),
    rule("chinese.context", ContextLimit)
        .decisive()
        .text(&[
            r"tokens? ?(?:数量|数|长度|总数)?(?:已)?(?:超|过长|过多)",
            r"(?:字数|字符数?|长度)(?:超过|超出|超限)",
            r"超长",

            "上下文~(?:超|过长|限制)",
            "压缩(?:上下文|对话|历史)",
            "超(?:过|出)~(?:最大长度|上下文|最大(?:输入)?token|长度限制|最大 token)",
            "输入过长",
            "输入长度",
            "prompt ?(?:长度|过长)",
            "tokens? ?超",
            "文本过长",
            "内容过长",
        ])
        .example("输入的 token 超过最大长度限制"),
    rule("chinese.auth", AuthError)
        .text(&[
            r"没有.{0,24}权限",
            r"(?:未|没有)(?:提供|携带|传入|设置|配置)(?:令牌|密钥|token|api|认证|鉴权|key)",
            r"无权(?:访问|进行|操作|使用|查看|调用)",
            r"实名认证",
            r"访问(?:被|受)(?:限|拒绝|禁止)",
            r"(?:账号|账户|用户)(?:已)?(?:被)?(?:封禁|禁用|冻结|锁定|停用|限制|注销|未激活|不存在)",
            r"(?:签名|验签|验证|校验)(?:失败|错误|不正确|无效|过期)",
            r"令牌(?:已)?(?:过期|禁用|失效|被禁用)",
            r"ip~(?:白名单|不允许|受限|禁止)",
            r"网段",
            r"登录(?:失败|超时|状态)",
            r"授权(?:失败|错误|过期)",
            r"未认证",
            r"未开通(?:服务|权限)?",

            "无效的(?:令牌|密钥|api|key|token)",
            "令牌~(?:无效|过期|失效)",
            "鉴权失败",
            "认证失败",
            "身份验证",
            "未授权",
            "没有权限",
            "无权限",
            "权限不足",
            "密钥(?:无效|错误|不正确|已过期)",
            "api ?key~(?:无效|错误|不存在|过期|不正确)",
            "token ?(?:已)?(?:过期|失效|无效)",
            "未登录",
            "请登录",
            "登录已过期",
            "账号(?:已)?(?:被)?(?:封禁|禁用|冻结|锁定)",
        ])
        .example("无效的令牌"),
    rule("chinese.invalid", InvalidRequest)
        .class()
        .text(&[
            "参数(?:错误|有误|无效|异常|不合法|非法|缺失)",
            "缺少~参数",
            "请求(?:格式|体|参数)~(?:错误|有误|不正确)",
            "不支持~参数",
            "格式错误",
            "取值范围",
        ])
        .example("参数错误：temperature 取值范围有误"),
    rule("chinese.timeout", Timeout).text(&["超时"]).example("请求超时，请稍后重试"),
    connection("chinese.network", NetworkTransient)
        .class()
        .text(&["网络(?:错误|异常|连接失败|不可用|连接错误)", "连接(?:失败|被拒绝|被重置|断开|已断开)", "无法连接"])
        .example("网络错误，请检查网络连接"),
    rule("chinese.state", StateLost)
        .decisive()
        .text(&[
            r"(?:会话|对话|任务|线程|文件|项目|缓存|上下文)(?:id|标识)?(?:不存在|已过期|已失效|已删除|未找到|无效|丢失)",
            r"找不到(?:会话|对话|任务|线程|文件|项目)",
"会话(?:不存在|已过期|已失效|已结束)", "(?:线程|任务|项目|对话|文件)(?:id)?不存在"])
        .example("会话不存在或已过期"),
    rule("chinese.output", BadOutput)
        .text(&[
            "(?:返回|响应|回复)(?:内容|结果)?(?:为)?空",
            "解析失败",
            "json ?(?:格式|解析)(?:错误|失败)",
            "空(?:响应|回复)",
        ])
        .example("返回内容为空"),
    rule("zhipu.codes_quota", QuotaExhausted)
        .window()
        .code(&["1113", "1304", "1308", "1309", "1310", "1316"])
        .example(r#"{"error":{"code":"1113","message":"x"}}"#),
    rule("zhipu.codes_rate", RateLimit)
        .code(&["1302", "1303", "1313"])
        .example(r#"{"error":{"code":"1302","message":"x"}}"#),
    rule("zhipu.codes_busy", Overloaded).code(&["1305", "1312"]).example(r#"{"error":{"code":"1305","message":"x"}}"#),
    rule("zhipu.codes_auth", AuthError)
        .class()
        .code(&["1000", "1001", "1002", "1003", "1004", "1110", "1111", "1112", "1220"])
        .example(r#"{"error":{"code":"1001","message":"x"}}"#),
    rule("zhipu.codes_request", InvalidRequest)
        .class()
        .code(&["1210", "1213", "1214", "1215"])
        .example(r#"{"error":{"code":"1214","message":"x"}}"#),
    rule("zhipu.codes_model", ModelUnavailable)
        .decisive()
        .code(&["1211", "1212", "1221", "1222", "1311"])
        .example(r#"{"error":{"code":"1211","message":"x"}}"#),
    rule("zhipu.codes_context", ContextLimit)
        .decisive()
        .code(&["1261"])
        .example(r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#),
    rule("zhipu.codes_safety", ContentFilter)
        .decisive()
        .code(&["1301"])
        .example(r#"{"error":{"code":"1301","message":"x"}}"#),
    // The field stands in answers too; in a refusal it is the reason.
    rule("zhipu.filtered", ContentFilter)
        .status(&[400, 403])
        .text(&[r#"\bcontent_?filter['"]?: ?\["#])
        .example(r#"Error code: 400 - {'contentFilter': [{'level': 1}]}"#),
    rule("zhipu.fair_use", RateLimit)
        .decisive()
        .text(&["fair use (?:policy|limits?)"])
        .example("Request blocked under Fair Use Policy. Your request rate has been restricted."),
    rule("dashscope.arrearage", QuotaExhausted)
        .decisive()
        .code(&[
            "Arrearage",
            "FreeTierOnly",
            "PrepaidBillOverdue",
            "PostpaidBillOverdue",
            "CommodityNotPurchased",
            "InsufficientBalance",
        ])
        .example(
            r#"{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}"#,
        ),
    rule("dashscope.allocation", RateLimit)
        .decisive()
        .code(&["RateQuota", "AllocationQuota", "BurstRate", "LimitRequests", "LimitBurstRate", "Throttling"])
        .text(&["allocated quota exceeded", "requests throttling triggered"])
        .example(r#"{"code":"AllocationQuota","message":"Allocated quota exceeded"}"#),
    rule("dashscope.safety", ContentFilter)
        .decisive()
        .text(&["may contain inappropriate content"])
        .example("Output data may contain inappropriate content."),
    rule("dashscope.range", ContextLimit)
        .decisive()
        .text(&["range of input length should be"])
        .example("Range of input length should be [1, 30720]"),
    rule("minimax.codes_balance", QuotaExhausted)
        .decisive()
        .text(&[r"status_code\S{0,2} ?(?:1008|2056)\b"])
        .example(r#"{"base_resp":{"status_code":1008,"status_msg":"x"}}"#),
    rule("minimax.codes_rate", RateLimit)
        .text(&[r"status_code\S{0,2} ?(?:1002|1039|1041|2045)\b"])
        .example(r#"{"base_resp":{"status_code":1002,"status_msg":"x"}}"#),
    rule("minimax.codes_safety", ContentFilter)
        .decisive()
        .text(&[r"status_code\S{0,2} ?(?:1026|1027|1042)\b", r"\b(?:input|output) new_sensitive\b"])
        .example(r#"{"base_resp":{"status_code":1026,"status_msg":"x"}}"#),
    rule("minimax.codes_auth", AuthError)
        .text(&[r"status_code\S{0,2} ?(?:1004|2049)\b"])
        .example(r#"{"base_resp":{"status_code":2049,"status_msg":"x"}}"#),
    rule("minimax.codes_server", ServerError)
        .text(&[r"status_code\S{0,2} ?(?:1000|1013|1024|1033)\b"])
        .example(r#"{"base_resp":{"status_code":1013,"status_msg":"x"}}"#),
    rule("minimax.codes_context", ContextLimit)
        .decisive()
        .text(&[r"context window exceeds limit \(2013\)"])
        .example("context window exceeds limit (2013)"),
    rule("moonshot.organization", RateLimit)
        .text(&[
            "request reached (?:organization )?(?:max )?(?:rpm|tpm|concurrency|max organization concurrency)",
            "reached max (?:request|organization)",
        ])
        .example("Your account org-1 request reached organization max RPM: 3, please try again after 1 seconds"),
    rule("moonshot.tpd", QuotaExhausted)
        .window()
        .text(&[r"reached (?:max )?(?:organization )?(?:max )?(?:tpd|rpd)\b"])
        .example("Your account request reached max organization TPD: 1500000"),
    rule("volcengine.codes", RateLimit)
        .code(&[
            "RequestBurstTooFast",
            "AccountRateLimitExceeded",
            "ModelAccountRpmRateLimitExceeded",
            "ModelAccountTpmRateLimitExceeded",
            "ModelAccountIpmRateLimitExceeded",
            "EndpointRateLimitExceeded",
            "EndpointTPMExceeded",
            "EndpointRPMExceeded",
            "SetLimitExceeded",
            "InflightBatchsizeExceeded",
        ])
        .example(r#"{"error":{"code":"RequestBurstTooFast"}}"#),
    rule("volcengine.quota", QuotaExhausted)
        .decisive()
        .code(&["AccountOverdueError", "ModelAccountDailyLimitExceeded", "APIAccountQuotaExceeded", "OverduePayment"])
        .example(r#"{"error":{"code":"AccountOverdueError","message":"x"}}"#),
    rule("volcengine.overloaded", Overloaded)
        .code(&["ServerOverloaded", "ServiceOverloaded"])
        .example(r#"{"error":{"code":"ServerOverloaded"}}"#),
    rule("volcengine.model", ModelUnavailable)
        .decisive()
        .code(&[
            "ServiceNotOpen",
            "OperationDenied.ServiceNotOpen",
            "InvalidEndpointOrModel",
            "ModelIDAccessDisabled",
            "ModelNotOpen",
            "ClosedEndpoint",
            "EndpointIsInvalid",
            "ModelNotFound",
        ])
        .example(r#"{"error":{"code":"InvalidEndpointOrModel"}}"#),
    rule("volcengine.safety", ContentFilter)
        .decisive()
        .code(&[
            "SensitiveContentDetected",
            "InputTextSensitiveContentDetected",
            "OutputTextSensitiveContentDetected",
            "InputImageSensitiveContentDetected",
            "ContentSecurityDetectionError",
            "RiskControlBlocked",
        ])
        .example(r#"{"error":{"code":"SensitiveContentDetected"}}"#),
];
