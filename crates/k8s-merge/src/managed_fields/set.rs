//! A set of field paths, as a tree: sorted at every level, so that operations on two sets walk both
//! once.

use std::cmp::Ordering;
use std::fmt;

use crate::managed_fields::element::Element;

/// A set of fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[doc(alias = "fieldpath.Set")]
pub struct Set {
    nodes: Vec<Node>,
}

/// A step of the paths in a set. It is a member itself, or there are members below it, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) element: Element,
    pub(super) member: bool,
    pub(super) children: Set,
}

impl Node {
    pub(super) const fn leaf(element: Element) -> Self {
        Self { element, member: true, children: Set::empty() }
    }

    const fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl Set {
    /// The set without a field.
    pub const fn empty() -> Self {
        Self { nodes: Vec::new() }
    }

    /// The set of one path. The empty path makes an empty set: the whole object is no field.
    pub(super) fn of_path(path: &[Element]) -> Self {
        let Some((first, rest)) = path.split_first() else { return Self::empty() };
        let node =
            Node { element: first.clone(), member: rest.is_empty(), children: Self::of_path(rest) };
        Self { nodes: vec![node] }
    }

    /// The set of these paths of member names.
    ///
    /// ```
    /// use k8s_merge::managed_fields::Set;
    ///
    /// let reset = Set::of_fields(&[&["status"], &["metadata", "labels"]]);
    /// assert_eq!(reset.paths()[1].to_string(), ".metadata.labels");
    /// ```
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let elements =
            |path: &[&str]| path.iter().map(|name| Element::field(name)).collect::<Vec<_>>();
        paths.iter().fold(Self::empty(), |set, path| set.union(&Self::of_path(&elements(path))))
    }

    /// Sorts nodes. Nodes of the same element become one.
    pub(super) fn of_nodes(mut nodes: Vec<Node>) -> Self {
        nodes.retain(|node| !node.is_empty());
        if !nodes.is_sorted_by(|one, next| one.element < next.element) {
            nodes.sort_by(|one, other| one.element.cmp(&other.element));
            nodes.dedup_by(|next, kept| {
                let same = next.element == kept.element;
                if same {
                    kept.member |= next.member;
                    kept.children = kept.children.union(&next.children);
                }
                same
            });
        }
        Self { nodes }
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Whether it has no field.
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn find(&self, element: &Element) -> Option<&Node> {
        let at = self.nodes.binary_search_by(|node| node.element.cmp(element)).ok()?;
        self.nodes.get(at)
    }

    /// Whether the step itself is a member.
    pub(super) fn has(&self, element: &Element) -> bool {
        self.find(element).is_some_and(|node| node.member)
    }

    /// The set below a step.
    pub(super) fn below(&self, element: &Element) -> Option<&Self> {
        self.find(element).map(|node| &node.children).filter(|children| !children.is_empty())
    }

    /// Whether the field at the path is a member. Fields above and below it do not count.
    #[doc(alias = "Has")]
    pub fn has_path(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.has_path(rest)),
        }
    }

    /// Walks two sets side by side: `pick` sees each step of either, with what each side has there.
    fn join(
        &self,
        other: &Self,
        mut pick: impl FnMut(Option<&Node>, Option<&Node>) -> Option<Node>,
    ) -> Self {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let (mut left, mut right) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        loop {
            let sides = match (left.peek(), right.peek()) {
                (None, None) => return Self { nodes },
                (Some(one), Some(other)) => one.element.cmp(&other.element),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
            };
            let picked = match sides {
                Ordering::Less => pick(left.next(), None),
                Ordering::Greater => pick(None, right.next()),
                Ordering::Equal => pick(left.next(), right.next()),
            };
            nodes.extend(picked.filter(|node| !node.is_empty()));
        }
    }

    /// The fields of either set.
    pub(super) fn union(&self, other: &Self) -> Self {
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self.clone();
        }
        self.join(other, |one, other| match (one, other) {
            (Some(one), Some(other)) => Some(Node {
                element: one.element.clone(),
                member: one.member || other.member,
                children: one.children.union(&other.children),
            }),
            (one, other) => one.or(other).cloned(),
        })
    }

    /// The fields of both sets.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        self.join(other, |one, other| {
            let (one, other) = (one?, other?);
            Some(Node {
                element: one.element.clone(),
                member: one.member && other.member,
                children: one.children.intersection(&other.children),
            })
        })
    }

    /// The union of two sets, without copying if one of them is empty.
    pub(super) fn united(self, other: Self) -> Self {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => self.union(&other),
        }
    }

    /// The fields that the other set does not have. Fields below those of the other set stay.
    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut left = self.clone();
        left.subtract(other);
        left
    }

    /// Removes the fields of the other set. Fields below them stay.
    pub(super) fn subtract(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.nodes.retain_mut(|node| {
            if let Some(other) = other.find(&node.element) {
                node.member &= !other.member;
                node.children.subtract(&other.children);
            }
            !node.is_empty()
        });
    }

    /// Removes the fields of the other set, and all below them.
    pub(super) fn subtract_with_all_below(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.nodes.retain_mut(|node| {
            let Some(other) = other.find(&node.element) else { return true };
            node.children.subtract_with_all_below(&other.children);
            !other.member && !node.is_empty()
        });
    }

    /// The paths of all members. Paths that end at a level come before deeper ones.
    #[doc(alias = "Iterate")]
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.gather(&mut Vec::new(), &mut paths);
        paths
    }

    fn gather(&self, above: &mut Vec<Element>, paths: &mut Vec<Path>) {
        for node in self.nodes.iter().filter(|node| node.member) {
            let mut path = above.clone();
            path.push(node.element.clone());
            paths.push(Path(path));
        }
        for node in self.nodes.iter().filter(|node| !node.children.is_empty()) {
            above.push(node.element.clone());
            node.children.gather(above, paths);
            above.pop();
        }
    }
}

/// The path from an object to one of its fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[doc(alias = "fieldpath.Path")]
pub struct Path(pub(super) Vec<Element>);

impl Path {
    /// The steps of the path.
    pub fn elements(&self) -> &[Element] {
        &self.0
    }
}

/// The text for people: `.spec.containers[name="a"].image`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}
