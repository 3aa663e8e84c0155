import NavigationChain
import SignalboxRoutes
import Synchronization

/// Requests verdicts from a navigation chain for a web view. Each request receives exactly one verdict before a
/// deadline, and the number of concurrent requests is bounded. Safe to use from any thread.
final class NavigationGate: Sendable {
    /// An observer of requests and their verdicts. The request is `nil` if the text is not a URL.
    typealias Observer = @Sendable (NavigationRequest?, NavigationVerdict) -> Void

    private let router: NavigationRouter
    private let deadline: Duration
    private let bound: Int
    private let clock: any Clock<Duration>
    private let counters: PageCounters
    private let observer: Observer?
    private let waiting = Mutex(0)

    /// - Parameters:
    ///   - observer: A closure that is called on the requesting task before the verdict is returned.
    ///   - clock: The clock used to measure the deadline.
    init(
        _ configuration: WebViewConfiguration,
        counters: PageCounters,
        clock: any Clock<Duration> = ContinuousClock(),
        observer: Observer? = nil
    ) {
        router = configuration.page.navigation
        deadline = configuration.navigationDeadline
        bound = configuration.navigationsWaiting
        self.counters = counters
        self.clock = clock
        self.observer = observer
    }

    /// Returns the verdict on a URL. The caller must not open any URL other than the verdict's `url`.
    ///
    /// If the task is cancelled, this method immediately returns a verdict that cancels the navigation.
    ///
    /// - Parameters:
    ///   - text: The URL as reported by the engine.
    ///   - page: The page that made the request, if there is one.
    func decide(_ text: String, kind: NavigationKind, frame: FrameRole, page: URLText?) async -> NavigationVerdict {
        let url: URLText
        do throws(URLTextError) {
            url = try URLText(text, paths: router.paths)
        } catch {
            let verdict = NavigationVerdict(refused: text, because: error)
            observer?(nil, verdict)
            return verdict
        }
        let request = NavigationRequest(url: url, kind: kind, frame: frame, page: page)
        let verdict = await decide(request)
        observer?(request, verdict)
        return verdict
    }

    private func decide(_ request: NavigationRequest) async -> NavigationVerdict {
        let isAdmitted = waiting.withLock { waiting in
            guard waiting < bound else { return false }
            waiting += 1
            return true
        }
        guard isAdmitted else { return undecided(request, "\(bound) navigations are waiting for a verdict") }
        defer { waiting.withLock { $0 -= 1 } }
        return await inTime(request) ?? undecided(request, "no verdict within \(deadline)")
    }

    private enum Race {
        case decided(NavigationVerdict)
        case late
        /// The request was cancelled. The chain is cancelled as well and answers immediately.
        case notTimed
    }

    /// - Returns: The verdict, or `nil` if the deadline passed first. The chain does not wait for a cancelled handler,
    ///   so this method returns promptly.
    private func inTime(_ request: NavigationRequest) async -> NavigationVerdict? {
        await withTaskGroup(of: Race.self) { [router, clock, deadline] group in
            group.addTask { .decided(await router.decide(request)) }
            group.addTask { (try? await clock.sleep(for: deadline)) == nil ? .notTimed : .late }
            defer { group.cancelAll() }
            for await result in group {
                switch result {
                case .decided(let verdict): return verdict
                case .late: return nil
                case .notTimed: continue
                }
            }
            return nil
        }
    }

    private func undecided(_ request: NavigationRequest, _ reason: String) -> NavigationVerdict {
        counters.add(to: \.navigationsUndecided)
        return NavigationVerdict(.cancel(reason), by: NavigationVerdict.byCaller, about: request.url, trace: [])
    }
}

/// Returns whether a response is a download. Any disposition other than `inline` makes the response a download (RFC
/// 6266, section 4.2), and the web view library downloads such a response without asking.
///
/// - Parameter disposition: The value of the `Content-Disposition` header, if there is one.
func isAttachment(_ disposition: String?) -> Bool {
    let fields = disposition?.lowercased().split(separator: ";", omittingEmptySubsequences: false)
    let type = fields?.first?.split(separator: " ").first ?? ""
    return !type.isEmpty && type != "inline"
}
