/// Values that keep their place in one array until they are removed. Inserting and removing take constant time, and a place is
/// reused before the array grows.
struct PlaceTable<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    private var free: [UInt32] = []
    private let vacant: Element

    /// - Parameter vacant: The value that fills a place without an element. It must not refer to any object.
    init(vacant: Element) { self.vacant = vacant }

    /// Adds an element and returns its place.
    ///
    /// - Precondition: The table holds fewer than 2^32 elements.
    mutating func insert(_ element: Element) -> UInt32 {
        guard let place = free.popLast() else {
            elements.append(element)
            return UInt32(elements.count - 1)
        }
        elements[Int(place)] = element
        return place
    }

    /// Removes and returns the element at a place that ``insert(_:)`` returned.
    @discardableResult
    mutating func remove(at place: UInt32) -> Element {
        free.append(place)
        var element = vacant
        swap(&element, &elements[Int(place)])
        return element
    }

    /// The element at a place. If it has been removed, this is the value for vacant places, or the element that took the place.
    subscript(place: UInt32) -> Element {
        get { elements[Int(place)] }
        _modify { yield &elements[Int(place)] }
    }
}
