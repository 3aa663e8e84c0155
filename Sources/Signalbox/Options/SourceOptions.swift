/// The bounds of one source.
struct SourceOptions: Sendable {
    let window: WindowLimits
    let rateLimit: RateLimit?
    let repeats: RepeatPolicy
}
