extension Duration {
    /// The wait as `poll` takes it: rounded up to milliseconds, 0 when negative, at most one day.
    package var pollMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds < 86_400 else { return 86_400_000 }
        guard self > .zero else { return 0 }
        return Int32(seconds) * 1_000 + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
