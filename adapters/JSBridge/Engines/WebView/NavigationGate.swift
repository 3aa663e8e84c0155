import NavigationChain
import SignalboxRoutes
import Synchronization

/// Where a web view asks about URLs: exactly one verdict for each question, in time, and no more questions at once than
/// the configuration says. Any thread.
final class NavigationGate: Sendable {
    /// Hears of each question and its verdict; there is no request where the text is no URL.
    typealias Observer = @Sendable (NavigationRequest?, NavigationVerdict) -> Void

    private let router: NavigationRouter
    private let deadline: Duration
    private let bound: Int
    private let clock: any Clock<Duration>
    private let counters: WebViewCounters
    private let observer: Observer?
    private let waiting = Mutex(0)

    /// - Parameters:
    ///   - observer: called on the task that asks, before the verdict is returned.
    ///   - clock: what the deadline is measured with.
    init(
        _ configuration: WebViewConfiguration,
        counters: WebViewCounters,
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

    /// The verdict. What is to be opened is its `url`, and nothing else.
    ///
    /// When the task is cancelled the verdict is to cancel, at once.
    ///
    /// - Parameters:
    ///   - text: the URL as the engine has it.
    ///   - page: the page that asks, where there is one.
    func decide(_ text: String, kind: NavigationKind, frame: FrameRole, page: URLText?) async -> NavigationVerdict {
        let url: URLText
        do throws(URLTextError) {
            url = try URLText(text)
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
        guard isAdmitted else { return undecided(request, "\(bound) questions about URLs wait for their verdicts") }
        defer { waiting.withLock { $0 -= 1 } }
        return await inTime(request) ?? undecided(request, "no verdict within \(deadline)")
    }

    private enum Race {
        case decided(NavigationVerdict)
        case late
        /// The asker was cancelled, of which the chain hears, too, and answers at once.
        case notTimed
    }

    /// - Returns: `nil` when the deadline came first. The chain does not wait for a handler that is cancelled.
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
